"""The function that a script ends with, as `main` often is: compiled so that it calls us before it returns.

Its locals are of interest too, and are gone at the script's end. Standard library only.
"""

import ast

END = "__beyond_ram_end__"
"""The name of what the compiled function calls at its end."""


def compiled(source, path):
    """The script, where the function that it ends with calls `END` before it returns: its locals are of interest too.

    That is a function of the script that its last statement calls, as `main()` or `sys.exit(main())`, and nothing else.
    """
    tree = ast.parse(source, path)
    last = tree.body[-1] if tree.body else tree
    if isinstance(last, ast.If):
        last = last.body[-1]
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    calls = called(tree)
    once = [name for name in called(last) if name in functions and calls.count(name) == 1]
    loops = ast.For | ast.While | ast.AsyncFor | ast.comprehension
    if len(once) == 1 and not of_kind(loops, last) and not of_kind(ast.Yield | ast.YieldFrom, functions[once[0]]):
        at_end(functions[once[0]])
        ast.fix_missing_locations(tree)
    return compile(tree, path, "exec", dont_inherit=True)


def called(node):
    """The names that are called below a node, each as often as it stands there."""
    calls = [one.func for one in ast.walk(node) if isinstance(one, ast.Call)]
    return [one.id for one in calls if isinstance(one, ast.Name)]


def at_end(function):
    start = 1 if ast.get_docstring(function, clean=False) is not None else 0
    last = function.body[-1]
    end = ast.Expr(ast.Call(ast.Name(END, ast.Load()), [ast.Constant(function.name)], []))
    body = ast.Try(function.body[start:] or [ast.Pass()], [], [], [ast.copy_location(end, last)])
    function.body[start:] = [ast.copy_location(body, last)]


def of_kind(kinds, node):
    return any(isinstance(one, kinds) for one in ast.walk(node))
