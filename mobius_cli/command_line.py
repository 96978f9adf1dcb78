"""The command line as typer parses it, with what typer does not do: errors of usage as JSON."""

from typing import Any

from typer.core import TyperGroup

from mobius_cli.errors import Failure, say_as_json


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
