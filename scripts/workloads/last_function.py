"""The function that a script ends with: the script compiled so that it is known, and calls us before it returns.

Its locals are of interest too, and are gone at the script's end. Standard library only.
"""

import ast
import collections

LAST, END = "__beyond_ram_last__", "__beyond_ram_end__"
"""The names of what the compiled script calls: before its last call, and at the end of functions."""


def compiled(source, path):
    """The script, where the function that it ends with calls `END` before it returns: its locals are of interest too.

    That is a function of the script, or a method of one of its classes, which its last statement calls, once and
    outside of any loop, as `main()` or `App().run()` often are. `LAST` is called before it, and learns whose it is.
    """
    tree = ast.parse(source, path)
    last = tree.body[-1:] or [tree]
    while isinstance(last[0], ast.If):
        last = last[0].body[-1:]
    functions, nodes = functions_of(tree), list(in_order(last[0]))
    imports = [one.names for one in ast.walk(tree) if isinstance(one, ast.Import | ast.ImportFrom)]
    imported = {alias.asname or alias.name.partition(".")[0] for names in imports for alias in names}
    named = [(name_of(one.func, imported), one) for one in nodes if isinstance(one, ast.Call)]
    calls = [(name, one) for name, one in named if name in functions]
    name, last_call = calls[-1] if calls else ("", None)
    loops = ast.For | ast.While | ast.AsyncFor | ast.comprehension
    if last_call and [one for one, _ in calls].count(name) == 1 and not of_kind(loops, nodes):
        if isinstance(last_call.func, ast.Attribute):
            last_call.func.value = call(LAST, last_call.func.value, ast.Constant(name))
        else:
            last_call.func = call(LAST, last_call.func, ast.Constant(name))
        for owner, function in functions[name]:
            if not of_kind(ast.Yield | ast.YieldFrom, ast.walk(function)):
                at_end(function, call(END, ast.Constant(owner + name)))
        ast.fix_missing_locations(tree)
    return compile(tree, path, "exec", dont_inherit=True)


def functions_of(tree):
    """The functions of a script by `name`, the methods of its classes by `.name`, each with the name of the class."""
    functions = collections.defaultdict(list)
    classes = [(one.name, ".", one.body) for one in tree.body if isinstance(one, ast.ClassDef)]
    for owner, prefix, body in [("", "", tree.body), *classes]:
        for one in body:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                functions[prefix + one.name].append((owner, one))
    return functions


def name_of(called, imported):
    """The name of a called function or method, as in `functions_of`; empty if a module or an imported name has it."""
    owner = called
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    if isinstance(called, ast.Attribute) and not (isinstance(owner, ast.Name) and owner.id in imported):
        return f".{called.attr}"
    return called.id if isinstance(called, ast.Name) else ""


def in_order(node):
    """The nodes below, in the order in which they end; what handles an error, or tidies up, is not the last."""
    for name in sorted(node._fields, key=lambda name: name not in ("handlers", "finalbody")):
        value = getattr(node, name, None)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield from in_order(part)
    yield node


def call(name, *arguments):
    return ast.Call(ast.Name(name, ast.Load()), [*arguments], [])


def at_end(function, end):
    start = 1 if ast.get_docstring(function, clean=False) is not None else 0
    last = function.body[-1]
    body = ast.Try(function.body[start:] or [ast.Pass()], [], [], [ast.copy_location(ast.Expr(end), last)])
    function.body[start:] = [ast.copy_location(body, last)]


def of_kind(kinds, nodes):
    return any(isinstance(one, kinds) for one in nodes)
