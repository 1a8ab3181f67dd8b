"""Samples in the three classes of the JSON test suites: must accept, must refuse, may do either.

Every sample is written for this project. The classes are those that the suites describe: what
RFC 8259 calls a JSON text, what it does not, and what it leaves to the implementation.
"""

import json
from typing import Final

import pytest

from jsonrepair_lark import repair

from .support import laws

# A text with the status of its result, or None where either of two is right.
Sample = tuple[str | bytes, str | None]

# Texts that every JSON parser accepts. Each has to come back byte for byte.
ACCEPT: Final[dict[str, str]] = {
    "array-empty": "[]",
    "array-of-empties": "[[], {}, [[]], [{}]]",
    "array-one-null": "[null]",
    "array-mixed": '[null, 1, "1", {}, true]',
    "array-heterogeneous-spaces": "[1\n,2\r,3\t,4 ]",
    "array-inner-spaces": "[ [ ]\t,\n[\r] ]",
    "array-leading-space": " \t\r\n[7]",
    "array-trailing-space": "[7] \t\r\n",
    "array-ending-with-newline": '["end"]\n',
    "array-long": "[" + ",".join(str(n) for n in range(300)) + "]",
    "array-nulls-in-a-row": "[1,null,null,null,2]",
    "array-false-first": "[false]",
    "number-zero": "[0]",
    "number-minus-zero": "[-0]",
    "number-minus-zero-float": "[-0.0]",
    "number-zero-exponent": "[0e7, 0E-7, 0e+7]",
    "number-one-digit-negative": "[-7]",
    "number-capital-exponent": "[3E21]",
    "number-capital-negative-exponent": "[3E-21]",
    "number-capital-positive-exponent": "[3E+21]",
    "number-exponent": "[31e5]",
    "number-exponent-leading-zeros": "[1e0005, 1e-005, 1E+0]",
    "number-fraction-exponent": "[31.125e-2]",
    "number-fraction-trailing-zeros": "[1.50000]",
    "number-close-to-zero": "[-0." + "0" * 70 + "1]",
    "number-underflow-to-zero": "[1e-400, -1e-400]",
    "number-largest-float": "[1.7976931348623157e308]",
    "number-smallest-float": "[4.9e-324]",
    "number-two-to-the-53-and-one": "[9007199254740993]",
    "number-sixty-digits": "[" + "123456" * 10 + "]",
    "number-many-fraction-digits": "[0." + "3" * 200 + "]",
    "number-after-space": "[ 4]",
    "number-alone": "42",
    "number-alone-negative": "-0.1",
    "number-alone-spaced": "\n 42 \n",
    "object-empty": "{}",
    "object-empty-spaced": "{ \t}",
    "object-empty-key": '{"": 0}',
    "object-basic": '{"one": "two"}',
    "object-repeated-key": '{"a": "b", "a": "c"}',
    "object-repeated-key-and-value": '{"a": "b", "a": "b"}',
    "object-escaped-nul-in-key": '{"ab\\u0000c": 7}',
    "object-keys-equal-by-escape": '{"\\u0061": 1, "b": 2}',
    "object-newlines": '{\n"a": "b"\n}',
    "object-long-strings": '{"x": [{"id": "' + "x" * 400 + '"}], "id": "' + "y" * 400 + '"}',
    "object-of-extremes": '{"min": -1.0e+28, "max": 1.0e+28}',
    "object-nested": '{"a": {"b": {"c": {"d": {}}}}}',
    "object-unicode-keys": '{"ключ": "значение", "鍵": "値"}',
    "string-empty": '[""]',
    "string-alone": '"alone"',
    "string-alone-empty": '""',
    "string-all-short-escapes": '["\\"\\\\\\/\\b\\f\\n\\r\\t"]',
    "string-escaped-solidus-run": '["\\/\\/\\/"]',
    "string-escaped-backslash-end": '["end\\\\"]',
    "string-escaped-backslash-then-u": '["\\\\u0041"]',
    "string-escaped-backslash-then-n": '["\\\\n"]',
    "string-escaped-quotes-run": '["\\"\\"\\""]',
    "string-escaped-controls": '["\\u0000\\u0001\\u001F\\u007f"]',
    "string-escaped-hex-cases": '["\\uabcd\\uABCD\\uAbCd"]',
    "string-escaped-noncharacter": '["\\uFFFE\\uFDD0"]',
    "string-raw-noncharacter": '["\uffff\ufdd0"]',
    "string-raw-noncharacter-astral": '["\U0010ffff\U0001fffe"]',
    "string-surrogate-pair": '["\\uD834\\uDD1E"]',
    "string-surrogate-pairs-lower-case": '["\\ud83d\\ude39\\ud83d\\udc8d"]',
    "string-surrogate-pair-last": '["\\uDBFF\\uDFFE"]',
    "string-raw-astral": '["\U0001d11e"]',
    "string-raw-del": '["\x7f"]',
    "string-raw-c1-controls": '["\x80\x85\x9f"]',
    "string-raw-line-separators": '["\u2028\u2029"]',
    "string-raw-no-break-space": '["\xa0\u202f\u3000"]',
    "string-raw-zero-width": '["\u200b\u2060\ufeff"]',
    "string-comment-inside": '["a/*b*/c//d#e"]',
    "string-brackets-inside": '["[{]}", "}{][", "],"]',
    "string-literals-inside": '["null", "NaN", "None"]',
    "string-space-only": '[" "]',
    "string-of-one-byte": '["*"]',
    "string-combining": '["e\u0301\u0302"]',
    "string-right-to-left": '["\u202eabc\u05d0"]',
    "string-twice-escaped": '["\\\\\\\\\\"\\\\"]',
    "literal-true": "true",
    "literal-false": "false",
    "literal-null": "null",
    "literal-spaced": " null\n",
    "structure-twenty-deep": "[" * 20 + "]" * 20,
}

# Texts that no JSON parser may accept, with what is done: refused, or repaired as documented.
REFUSE: Final[dict[str, Sample]] = {
    "array-one-true-without-comma": ("[1 true]", "rejected"),
    "array-number-and-comma": ("[1,]", "repaired"),
    "array-number-and-commas": ("[1,,]", "rejected"),
    "array-double-comma": ("[1,,2]", "rejected"),
    "array-comma-first": ("[,1]", "rejected"),
    "array-just-comma": ("[,]", "rejected"),
    "array-just-minus": ("[-]", "rejected"),
    "array-colon-instead-of-comma": ('["a": 1]', "rejected"),
    "array-comma-after-close": ('["a"],', "rejected"),
    "array-comma-and-number": ("[,7", "rejected"),
    "array-extra-close": ('["a"]]', "repaired"),
    "array-incomplete": ('["a"', "repaired"),
    "array-incomplete-after-comma": ('["a",', "rejected"),
    "array-incomplete-bad-value": ("[x", "rejected"),
    "array-inner-array-no-comma": ("[3[4]]", "rejected"),
    "array-items-separated-by-semicolon": ("[1;2]", "rejected"),
    "array-newlines-unclosed": ('["a",\n4\n,1', "repaired"),
    "array-open-only": ("[", "rejected"),
    "array-close-only": ("]", "rejected"),
    "array-round-brackets": ("(1)", "rejected"),
    "array-spaces-vertical-tab": ("[\v1]", "rejected"),
    "array-form-feed-after-value": ("[1\f]", "rejected"),
    "array-star-inside": ("[*]", "rejected"),
    "array-unclosed-with-object-inside": ("[{}", "repaired"),
    "array-closed-as-object": ("[1}", "rejected"),
    "array-ellipsis": ("[1, ...]", "rejected"),
    "array-with-invalid-raw-byte": (b"[\xff]", "rejected"),
    "literal-incomplete-nul": ("[nul]", "rejected"),
    "literal-incomplete-fals": ("[fals]", "rejected"),
    "literal-incomplete-tru": ("[tru]", "rejected"),
    "literal-upper-case": ("[NULL]", "rejected"),
    "literal-capital-null": ("[Null]", "rejected"),
    "literal-capital-true": ("[True]", "repaired"),
    "literal-capital-false": ("[False]", "repaired"),
    "literal-python-none": ("[None]", "repaired"),
    "literal-upper-case-true": ("[TRUE]", "rejected"),
    "literal-undefined": ("[undefined]", "rejected"),
    "literal-joined-letters": ("[nulls]", "rejected"),
    "literal-joined-literals": ("[truefalse]", "rejected"),
    "literal-python-joined-letters": ("[Nones]", "rejected"),
    "literal-python-joined-digits": ("[True1]", "rejected"),
    "literal-joined-number": ("[null0]", "rejected"),
    "number-plus-plus": ("[++7]", "rejected"),
    "number-plus": ("[+7]", "rejected"),
    "number-plus-infinity": ("[+Infinity]", "rejected"),
    "number-minus-minus": ("[--7]", "rejected"),
    "number-minus-letter": ("[-x]", "rejected"),
    "number-minus-space": ("[- 7]", "rejected"),
    "number-minus-leading-zero": ("[-07]", "rejected"),
    "number-minus-two-zeros": ("[-00]", "rejected"),
    "number-minus-zero-dot": ("[-0.]", "rejected"),
    "number-minus-NaN": ("[-NaN]", "rejected"),
    "number-NaN": ("[NaN]", "rejected"),
    "number-Infinity": ("[Infinity]", "rejected"),
    "number-minus-Infinity": ("[-Infinity]", "rejected"),
    "number-nan-lower-case": ("[nan]", "rejected"),
    "number-inf-short": ("[Inf]", "rejected"),
    "number-leading-zero": ("[012]", "rejected"),
    "number-two-zeros": ("[00]", "rejected"),
    "number-leading-zero-alone": ("012", "rejected"),
    "number-bare-dot": ("[.]", "rejected"),
    "number-dot-first": ("[.5]", "rejected"),
    "number-dot-first-negative": ("[-.5]", "rejected"),
    "number-dot-last": ("[5.]", "rejected"),
    "number-dot-exponent": ("[5.e3]", "rejected"),
    "number-two-dots": ("[1.2.3]", "rejected"),
    "number-exponent-only": ("[e5]", "rejected"),
    "number-exponent-empty": ("[5e]", "rejected"),
    "number-exponent-sign-only": ("[5e-]", "rejected"),
    "number-exponent-two-signs": ("[5e-+3]", "rejected"),
    "number-exponent-twice": ("[5e3e4]", "rejected"),
    "number-exponent-fraction": ("[5e3.2]", "rejected"),
    "number-expression": ("[1+2]", "rejected"),
    "number-difference": ("[1-2]", "rejected"),
    "number-hexadecimal": ("[0x1F]", "rejected"),
    "number-octal": ("[0o17]", "rejected"),
    "number-with-underscore": ("[1_000]", "rejected"),
    "number-with-comma": ('{"a": 1,000}', "rejected"),
    "number-with-letter": ("[1a]", "rejected"),
    "number-with-suffix": ("[1L]", "rejected"),
    "number-space-inside": ("[1 000]", "rejected"),
    "number-full-width-digit": ("[\uff11]", "rejected"),
    "number-arabic-digits": ("[\u0661\u0662]", "rejected"),
    "number-arabic-digit-after-digit": ("[1\u0662]", "rejected"),
    "number-superscript": ("[2\xb2]", "rejected"),
    "number-minus-sign-of-unicode": ("[\u22125]", "rejected"),
    "literal-not-a-word": ('["x", truth]', "rejected"),
    "object-bracket-key": ("{[: 1}", "rejected"),
    "object-comma-instead-of-colon": ('{"x", null}', "rejected"),
    "object-double-colon": ('{"x":: 1}', "rejected"),
    "object-emoji": ("{\U0001f1e8\U0001f1ed}", "rejected"),
    "object-garbage-at-end": ('{"a": "a" 123}', "rejected"),
    "object-key-with-single-quotes": ("{'a': 0}", "rejected"),
    "object-key-without-quotes": ("{a: 0}", "rejected"),
    "object-missing-colon": ('{"a" 1}', "rejected"),
    "object-missing-key": ('{: "b"}', "rejected"),
    "object-missing-value": ('{"a":}', "rejected"),
    "object-missing-second-value": ('{"a": 1, "b":}', "rejected"),
    "object-no-colon": ('{"a"', "rejected"),
    "object-number-key": ("{1: 1}", "rejected"),
    "object-null-key": ("{null: 1}", "rejected"),
    "object-equals-sign": ('{"a"=1}', "rejected"),
    "object-several-trailing-commas": ('{"id": 0,,,,}', "rejected"),
    "object-trailing-comma": ('{"id": 0,}', "repaired"),
    "object-just-comma": ("{,}", "rejected"),
    "object-two-commas-in-a-row": ('{"a": 1,, "b": 2}', "rejected"),
    "object-trailing-comment": ('{"a": 1}/**/', "rejected"),
    "object-trailing-comment-open": ('{"a": 1}/*', "rejected"),
    "object-trailing-comment-slashes": ('{"a": 1}//', "rejected"),
    "object-comment-inside": ('{"a": /* c */ 1}', "rejected"),
    "object-trailing-hash": ('{"a": 1}#', "rejected"),
    "object-unterminated-value": ('{"a": "a', "rejected"),
    "object-unquoted-then-quoted": ('{"a": 1, b: 2}', "rejected"),
    "object-single-string": ('{"a"}', "rejected"),
    "object-closed-as-array": ('{"a": 1]', "rejected"),
    "object-with-member-in-array": ('["a": 1, "b"]', "rejected"),
    "string-one-quote": ('"', "rejected"),
    "string-single-quotes": ("['a']", "rejected"),
    "string-without-quotes": ("[abc]", "rejected"),
    "string-backquotes": ("[`a`]", "rejected"),
    "string-typographic-quotes": ("[\u201ca\u201d]", "rejected"),
    "string-unterminated": ('["a', "rejected"),
    "string-unterminated-escape": ('["a\\', "rejected"),
    "string-unterminated-unicode-escape": ('["\\u12', "rejected"),
    "string-escape-quote-at-end": ('["\\"', "rejected"),
    "string-escape-x": ('["\\x41"]', "rejected"),
    "string-escape-octal": ('["\\101"]', "rejected"),
    "string-escape-v": ('["\\v"]', "rejected"),
    "string-escape-a": ('["\\a"]', "rejected"),
    "string-escape-capital-u": ('["\\U0041"]', "rejected"),
    "string-escape-single-quote": ('["\\\'"]', "rejected"),
    "string-escape-emoji": ('["\\\U0001f300"]', "rejected"),
    "string-escape-raw-tab": ('["\\\t"]', "rejected"),
    "string-escape-raw-newline": ('["\\\n"]', "rejected"),
    "string-escape-raw-nul": ('["\\\x00"]', "rejected"),
    "string-unicode-escape-short": ('["\\u00A"]', "rejected"),
    "string-unicode-escape-not-hex": ('["\\u00G0"]', "rejected"),
    "string-unicode-escape-braces": ('["\\u{41}"]', "rejected"),
    "string-unicode-escape-sign": ('["\\u+041"]', "rejected"),
    "string-unicode-escape-space": ('["\\u 041"]', "rejected"),
    "string-unicode-escape-full-width": ('["\\u004\uff11"]', "rejected"),
    "string-surrogate-then-bad-escape": ('["\\uD834\\x"]', "rejected"),
    "string-surrogate-then-short-escape": ('["\\uD834\\uDd"]', "rejected"),
    "string-raw-newline": ('["a\nb"]', "repaired"),
    "string-raw-tab": ('["\t"]', "repaired"),
    "string-raw-nul": ('["a\x00a"]', "repaired"),
    "string-raw-escape-character": ('["\x1b[0m"]', "repaired"),
    "string-raw-unit-separator": ('["\x1f"]', "repaired"),
    "string-invalid-utf-8": (b'["\xff"]', "rejected"),
    "string-overlong-utf-8": (b'["\xc0\xaf"]', "rejected"),
    "string-cut-utf-8": (b'["\xe4\xb8', "rejected"),
    "string-utf-8-surrogate": (b'["\xed\xa0\x80"]', "rejected"),
    "string-two-side-by-side": ('"a" "b"', "rejected"),
    "string-adjacent-in-array": ('["a" "b"]', "rejected"),
    "string-triple-quotes": ('["""a"""]', "rejected"),
    "structure-nothing": ("", "rejected"),
    "structure-white-space-only": (" \r\n\t", "rejected"),
    "structure-byte-order-mark-only": ("\ufeff", "rejected"),
    "structure-angle-brackets": ("<.>", "rejected"),
    "structure-angle-null": ("[<null>]", "rejected"),
    "structure-array-then-text": ("[1]x", "rejected"),
    "structure-array-then-array": ("[1][2]", "rejected"),
    "structure-array-with-extra-opener": ("[][", "rejected"),
    "structure-object-then-object": ('{"a": 1}{"b": 2}', "rejected"),
    "structure-number-then-text": ("2@", "rejected"),
    "structure-two-numbers": ("1 2", "rejected"),
    "structure-literal-cut": ("tru", "rejected"),
    "structure-capital-literal": ("True", "repaired"),
    "structure-close-unopened-object": ("}", "rejected"),
    "structure-crossed": ("[{]}", "rejected"),
    "structure-crossed-with-values": ('[{"a": 1]}', "repaired"),
    "structure-doubly-closed-object": ("{}}", "repaired"),
    "structure-lone-comma": (",", "rejected"),
    "structure-lone-colon": (":", "rejected"),
    "structure-lone-minus": ("-", "rejected"),
    "structure-lone-backslash": ("\\", "rejected"),
    "structure-no-break-space": ("[1,\xa02]", "rejected"),
    "structure-word-joiner": ("[\u2060]", "rejected"),
    "structure-line-separator": ("[\u2028]", "rejected"),
    "structure-mark-inside": ("[\ufeff1]", "rejected"),
    "structure-two-marks": ("\ufeff\ufeff[1]", "rejected"),
    "structure-mark-after": ("[1]\ufeff", "rejected"),
    "structure-open-deep": ("[" * 100_000, "rejected"),
    "structure-open-objects-deep": ('[{"":' * 50_000, "rejected"),
    "structure-open-mixed": ('[{"a": [{"b": [', "rejected"),
    "structure-open-commas": ("[,[,[,", "rejected"),
    "structure-open-apostrophe": ("{'", "rejected"),
    "structure-open-string-in-object": ('{"a', "rejected"),
    "structure-markdown-fence": ('```json\n{"a": 1}\n```', "rejected"),
    "structure-prose-before": ('Here it is: {"a": 1}', "rejected"),
    "structure-lines-of-json": ("[1]\n[2]\n", "rejected"),
    "structure-nul-byte-after": ("[1]\x00", "rejected"),
    "structure-nul-byte-inside": ("[1\x00]", "rejected"),
    "structure-uescaped-newline": ("[\\u000A1]", "rejected"),
    "structure-unicode-escape-outside": ("[\\u0031]", "rejected"),
}

# Texts that a parser may accept or refuse, with what is done here.
EITHER: Final[dict[str, Sample]] = {
    "number-double-huge-negative-exponent": ("[123.456e-789]", "valid"),
    "number-huge-exponent": ("[0.4e00669999999999999999999]", "rejected"),
    "number-negative-overflow": ("[-1e9999]", "rejected"),
    "number-overflow": ("[1.5e+9999]", "rejected"),
    "number-overflow-without-exponent": ("[" + "9" * 400 + ".0]", "rejected"),
    "number-integer-beyond-64-bits": ("[123123123123123123123123123123]", "valid"),
    "number-integer-beyond-64-bits-negative": ("[-123123123123123123123123123123]", "valid"),
    "number-integer-of-5000-digits": ("[" + "7" * 5000 + "]", "rejected"),
    "number-fraction-of-5000-digits": ("[0." + "7" * 5000 + "]", "valid"),
    "object-key-lone-surrogate": ('{"\\uDFAA": 0}', "rejected"),
    "string-first-surrogate-alone": ('["\\uDADA"]', "rejected"),
    "string-second-surrogate-alone": ('["\\uDC00"]', "rejected"),
    "string-first-surrogate-then-letter": ('["\\uD888abc"]', "rejected"),
    "string-first-surrogate-twice": ('["\\uD888\\uD888"]', "rejected"),
    "string-first-surrogate-then-scalar": ('["\\uD888\\u1234"]', "rejected"),
    "string-first-surrogate-then-newline": ('["\\uD888\\n"]', "rejected"),
    "string-surrogates-swapped": ('["\\uDD1E\\uD834"]', "rejected"),
    "string-raw-lone-surrogate": ('["\ud800"]', "rejected"),
    "string-raw-lone-low-surrogate": ('["\udfff"]', "rejected"),
    "bytes-utf-16-little-endian": ('["é"]'.encode("utf-16-le"), "valid"),
    "bytes-utf-16-big-endian": ('["é"]'.encode("utf-16-be"), "valid"),
    "bytes-utf-32-little-endian": ('["é"]'.encode("utf-32-le"), "valid"),
    "bytes-utf-32-big-endian": ('["é"]'.encode("utf-32-be"), "valid"),
    "bytes-utf-16-with-mark": ('["é"]'.encode("utf-16"), None),
    "bytes-utf-8-with-mark": ('["é"]'.encode("utf-8-sig"), None),
    "bytes-latin-1": ('["é"]'.encode("latin-1"), "rejected"),
    "bytes-utf-16-odd-length": ('["é"]'.encode("utf-16-le")[:-1], "rejected"),
    "bytes-utf-8-of-a-surrogate-pair": (b'["\xed\xa0\xb4\xed\xb4\x9e"]', "rejected"),
    "bytes-beyond-unicode": (b'["\xf4\xbf\xbf\xbf"]', "rejected"),
    "bytes-lone-continuation": (b'["\x81"]', "rejected"),
    "structure-byte-order-mark": ("\ufeff{}", "repaired"),
    "structure-at-the-depth-limit": ("[" * 500 + "]" * 500, "valid"),
    "structure-one-over-the-depth-limit": ("[" * 501 + "]" * 501, "rejected"),
    "structure-fifty-thousand-deep": ("[" * 50_000 + "]" * 50_000, "rejected"),
}


def test_the_samples_are_of_their_class() -> None:
    """`json.loads` is the arbiter; a sample in the wrong class would test nothing."""
    assert len(ACCEPT) + len(REFUSE) + len(EITHER) >= 120
    for name, text in ACCEPT.items():
        assert laws.strict_loads(text) is not None or "null" in text, name
    for name, (sample, _) in REFUSE.items():
        try:
            laws.strict_loads(sample if isinstance(sample, str) else sample.decode())
        except (ValueError, RecursionError):
            continue
        pytest.fail(f"{name} is valid JSON")


@pytest.mark.parametrize("name", ACCEPT)
def test_what_must_be_accepted_is_not_changed(name: str) -> None:
    text = ACCEPT[name]
    result = repair(text)
    assert result.status == "valid"
    laws.check_result(text, result)
    laws.check_chunks(text, result)
    encoded = repair(text.encode())
    assert encoded.status == "valid"
    assert laws.same(encoded.value, json.loads(text))


@pytest.mark.parametrize("name", REFUSE | EITHER)
def test_what_is_not_plain_json_is_refused_or_repaired_by_the_laws(name: str) -> None:
    text, status = (REFUSE | EITHER)[name]
    result = repair(text)
    if status is not None:
        assert result.status == status, result.reason
    if isinstance(text, bytes):
        if result.status != "rejected":
            assert laws.same(result.value, json.loads(text))
        return
    laws.check_result(text, result)
    if len(text) < 10_000:
        laws.check_chunks(text, result)


@pytest.mark.parametrize("name", REFUSE)
def test_prefixes_of_what_must_be_refused_obey_the_laws(name: str) -> None:
    text, _ = REFUSE[name]
    if isinstance(text, bytes):
        for cut in range(len(text)):
            repair(text[:cut])
        return
    for cut in range(min(len(text), 200)):
        laws.check_result(text[:cut], repair(text[:cut]))
