"""`beyond-ram completion`: what a shell needs to complete commands and options."""

import argparse
import shlex
from collections.abc import Iterator
from importlib import import_module

_BASH = """_beyond_ram() {
  local words="" word=${COMP_WORDS[COMP_CWORD]}
  [[ " ${COMP_WORDS[*]:0:COMP_CWORD} " == *" -- "* ]] && return
  case "$COMP_CWORD ${COMP_WORDS[1]}" in
    "1 "*) words=%s ;;
%s
  esac
  case "$COMP_CWORD $word" in "1 "*|*" -"*|"2 "*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;; esac
}
complete -o default -F _beyond_ram beyond-ram"""


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "completion",
        help="print a script with which a shell completes commands and options",
        description='Print a script for a shell: eval "$(beyond-ram completion bash)" in ~/.bashrc (zsh: ~/.zshrc).',
    )
    parser.add_argument("shell", choices=("bash", "zsh"))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from . import COMMANDS

    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    for name in COMMANDS:
        import_module(f".{name}", __package__).add_to(commands)
    print("\n".join(_bash(commands.choices, arguments.shell)))
    return 0


def _bash(commands: dict[str, argparse.ArgumentParser], shell: str) -> Iterator[str]:
    if shell == "zsh":
        yield "autoload -U +X compinit bashcompinit && { whence compdef > /dev/null || compinit; } && bashcompinit"
    cases = (f'    *" {name}") words={shlex.quote(" ".join(_words(one)))} ;;' for name, one in commands.items())
    yield _BASH % (shlex.quote(" ".join(commands)), "\n".join(cases))


def _words(parser: argparse.ArgumentParser) -> list[str]:
    """The long options of a command, with those of its actions, and the actions' names."""
    words = []
    for action in parser._actions:
        words += [option for option in action.option_strings if option.startswith("--")]
        if isinstance(action, argparse._SubParsersAction):
            for name, one in action.choices.items():
                words += [name, *_words(one)]
        elif action.choices and not action.option_strings:
            words += map(str, action.choices)
    return list(dict.fromkeys(words))
