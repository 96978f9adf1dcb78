"""`python -m mobius_cli`."""

from mobius_cli.app import main

main()
