"""The exceptions that this library raises.

Text never raises: it gives a result. What raises is a function that returns a bare value and has
none (`RepairError`, in `api`), a grammar that can't be found or that Lark refuses.
"""


class GrammarNotFoundError(LookupError):
    """No grammar of that name, or several; the message lists what is known."""


class GrammarFormatError(ValueError):
    """A grammar breaks a rule of this library; the message names the grammar and the rule."""
