"""The caller's options, and the one place that decides what each of them means.

Every path that makes a value, the valid one and the repaired one, asks here.
"""

import sys
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any, Final, Literal

from jsonrepair_lark.lexemes import has_base, is_float
from jsonrepair_lark.limits import Limits

REASONS: Final = frozenset(
    {
        "empty",
        "truncated",
        "dangling_comma",
        "incomplete_string",
        "incomplete_number",
        "incomplete_literal",
        "missing_value",
        "missing_colon",
        "empty_container",
        "unexpected_input",
        "invalid_escape",
        "concatenated",
        "trailing_text",
        "nonfinite_number",
        "number_too_long",
        "lone_surrogate",
        "duplicate_key",
        "too_deep",
        "invalid_encoding",
        "not_an_object",
        "repair_not_allowed",
    }
)
"""Every reason code that a rejection can have."""

SAFE: Final = frozenset(
    {
        "missing_closer",
        "excess_closer",
        "trailing_comma",
        "control_character",
        "python_literal",
        "byte_order_mark",
        "unescaped_quote",
    }
)
PROFILES: Final = {"safe": SAFE, "strict": frozenset[str]()}
"""Profiles by name: the kinds of repair that each allows."""

CUT: Final = frozenset({"length", "max_tokens", "model_length", "max_output_tokens"})
"""What the APIs of models say, in any case, where they cut the text."""

CHOICES: Final = {
    "number_at_end": ("accept", "reject"),
    "empty_container": ("reject", "close"),
    "nonfinite": ("reject", "null"),
    "lone_surrogates": ("reject", "replace"),
    "duplicate_keys": ("last", "reject"),
}


def _check_type(name: str, value: object, kinds: type | tuple[type, ...]) -> None:
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise TypeError(f"{name} must not be of type {type(value).__name__}")


def _check_profile(profile: object) -> None:
    if isinstance(profile, str):
        if profile not in PROFILES:
            raise ValueError(f"profile must be one of {sorted(PROFILES)}, not {profile!r}")
    elif not isinstance(profile, frozenset) or not all(isinstance(kind, str) for kind in profile):
        kind = type(profile).__name__
        raise TypeError(f"profile must be a name or a collection of kinds, not of type {kind}")


@dataclass(frozen=True)
class Options:
    """The options of a repair; `repair` documents them.

    Raises:
        ValueError: for a value that an option does not take.
        TypeError: for an option that does not exist.
    """

    profile: str | frozenset[str] = "safe"
    number_at_end: Literal["accept", "reject"] = "accept"
    empty_container: Literal["reject", "close"] = "reject"
    nonfinite: Literal["reject", "null"] = "reject"
    lone_surrogates: Literal["reject", "replace"] = "reject"
    duplicate_keys: Literal["last", "reject"] = "last"
    max_depth: int = 500
    finish_reason: str | None = None

    def __post_init__(self) -> None:
        """Check every value, so that a typing error never widens what is allowed."""
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                known = " or ".join(map(repr, choices))
                raise ValueError(f"{name} must be {known}, not {value!r}")
        _check_profile(self.profile)
        _check_type("max_depth", self.max_depth, int)
        if self.max_depth < 1:
            raise ValueError(f"max_depth must be at least 1, not {self.max_depth}")
        _check_type("finish_reason", self.finish_reason, (str, type(None)))

    @cached_property
    def allowed(self) -> frozenset[str]:
        """The kinds of repair that are allowed."""
        kinds = PROFILES[self.profile] if isinstance(self.profile, str) else self.profile
        if self.nonfinite == "null":
            kinds |= {"nonfinite_number"}
        if self.lone_surrogates == "replace":
            kinds |= {"lone_surrogate"}
        return kinds

    @cached_property
    def is_cut(self) -> bool:
        """Whether the model's API said that the text is cut."""
        return self.finish_reason is not None and self.finish_reason.casefold() in CUT

    @cached_property
    def limits(self) -> Limits:
        """What a session may do under these options."""
        return Limits(
            allowed=self.allowed,
            max_depth=self.max_depth,
            close_empty=self.empty_container == "close",
            truncated=self.is_cut,
            refine={
                "NUMBER": self.refine_number,
                "PYTHON_NUMBER": self.refine_python_number,
                "NAMED_TEXT": self.refine_named_escape,
            },
            natives=self.number_at_end == "accept" and self.duplicate_keys == "last",
            refusals=REASONS,
        )

    def refine_number(self, lexeme: str, at_end: bool) -> tuple[str | None, str | None]:  # noqa: FBT001
        """Decide on a number: the terminal that it really is, and the reason to refuse it.

        Args:
            lexeme: the number as it stands in the text.
            at_end: whether nothing follows it, not even white space.
        """
        if at_end and self.number_at_end == "reject":
            return None, "incomplete_number"
        if is_float(lexeme):
            is_finite = abs(float(lexeme)) != float("inf")
            return (None if is_finite else "NONFINITE"), None
        limit = sys.get_int_max_str_digits()
        if limit and len(lexeme) - lexeme.startswith("-") > limit:
            return None, "number_too_long"
        return None, None

    def refine_python_number(self, lexeme: str, at_end: bool) -> tuple[str | None, str | None]:  # noqa: FBT001
        """Decide on a number in Python's notation; see `refine_number`."""
        if at_end and self.number_at_end == "reject":
            return None, "incomplete_number"
        limit = sys.get_int_max_str_digits()
        is_decimal = not has_base(lexeme)
        if is_decimal and is_float(lexeme):
            is_finite = abs(float(lexeme)) != float("inf")
            return None, None if is_finite else "nonfinite_number"
        if not limit:
            return None, None
        is_long = len(lexeme) > limit if is_decimal else abs(int(lexeme, 0)) >= 10**limit
        return None, "number_too_long" if is_long else None

    @staticmethod
    def refine_named_escape(lexeme: str, at_end: bool) -> tuple[str | None, str | None]:  # noqa: FBT001
        r"""Decide on an escape such as `\N{BULLET}`; see `refine_number`."""
        del at_end
        try:
            unicodedata.lookup(lexeme[3:-1])
        except KeyError:
            return None, "invalid_escape"
        return None, None


DEFAULTS: Final = Options()
_NAMES: Final = tuple(field.name for field in fields(Options))


def options_from(given: dict[str, Any]) -> Options:
    """Return the options for keyword arguments; the same object for the same arguments.

    Raises:
        TypeError: for an option that does not exist or is of the wrong type.
        ValueError: for a value that an option does not take.
    """
    if not given:
        return DEFAULTS
    for name in given:
        if name not in _NAMES:
            raise TypeError(f"unknown option {name!r}; options are {', '.join(_NAMES)}")
    profile = given.get("profile")
    try:
        if isinstance(profile, Collection) and not isinstance(profile, str):
            given = {**given, "profile": frozenset(profile)}
        return _made(tuple((name, type(given[name]), given[name]) for name in sorted(given)))
    except TypeError as error:
        # An unhashable value is a wrong one; let the checks name it.
        if "unhashable" in str(error):
            return Options(**given)
        raise


@lru_cache(maxsize=64)
def _made(given: tuple[tuple[str, type, Any], ...]) -> Options:
    # The types are in the key, since True and 1.0 are equal to 1.
    return Options(**{name: value for name, _, value in given})
