"""The command line as typer parses it, with what typer does not do: errors of usage as JSON, help in groups."""

import shlex
from typing import Any

from typer.core import TyperCommand, TyperGroup

from mobius_cli.errors import Failure, say_as_json

TYPED = "mobius.typed"  # where a context keeps the arguments


class Commands(TyperGroup):
    """All commands; what is wrong with their arguments is also printed as an object where --json is among them."""

    def invoke(self, ctx: Any) -> Any:
        """Parse the arguments of one command and run it."""
        given = [*getattr(ctx, "_protected_args", ()), *ctx.args]  # while it runs they are taken away
        try:
            return super().invoke(ctx)
        except Exception as error:
            # Typer brings its own click or takes that of the environment: an error of usage is known by what it has.
            words = getattr(error, "format_message", None)
            if words is not None and "--json" in given:
                at = getattr(error, "ctx", None) or ctx
                say_as_json(Failure(words(), f"see {at.command_path} --help", getattr(error, "exit_code", 2)))
            raise  # typer says it on stderr


class Command(TyperCommand):
    """One command; its help has the options in the groups that typer has for rich's panels, which take long to load."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the arguments as they were typed, for `typed_line`."""
        ctx.meta[TYPED] = [str(self.name), *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, each group in the order of its first option, and what is in none."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        others = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            group = getattr(parameter, "rich_help_panel", None)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                groups["Arguments"].append(record)
            elif group:
                groups.setdefault(group, []).append(record)
            else:
                others.append(record)
        for title, records in {**groups, "Options": others}.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def example(line: str) -> str:
    """The end of a help page."""
    return f"Example: {line}"


def typed_line(ctx: Any) -> str:
    """The command line of the command that runs, quoted for a shell; the program by its name, wherever it lies."""
    return shlex.join(["mobius", *ctx.meta[TYPED]])
