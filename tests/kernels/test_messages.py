from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpubench.kernels.messages import MAX_CHARACTERS, MAX_ERRORS, own_errors

FILES = {"demo/scale.cu", "gpubench/factor.cuh"}

LOG = """\
demo/scale.cu(3): warning #177-D: variable "unused" was declared but never referenced
      int unused;
          ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

/etc/shadow(1): error: identifier "root" is undefined
  root:secret:19000:0:99999:7:::
  ^

gpubench/factor.cuh(2): error: argument of type "int *" is incompatible with parameter of type "double"
  template <class T> __device__ T factor() { return f(T(3)); }
                                                      ^
          detected during instantiation of "void scale(T *) [with T=int *]"

2 errors detected in the compilation of "demo/scale.cu".
"""


def test_only_our_own_errors_are_shown() -> None:
    """Errors against our files come with their lines; warnings and quotes from any other file do not."""
    text = own_errors(LOG, FILES)
    assert text.startswith("gpubench/factor.cuh(2): error: argument of type")
    assert "return f(T(3));" in text
    assert "detected during instantiation" in text
    assert "secret" not in text
    assert "unused" not in text


def test_only_the_first_errors_are_shown() -> None:
    """A flood of errors is cut to the first ones, with a count of the rest."""
    log = "".join(f'demo/scale.cu({line}): error: identifier "a{line}" is undefined\n' for line in range(1, 101))
    text = own_errors(log, FILES)
    assert "(1): error" in text
    assert f'"a{MAX_ERRORS + 1}"' not in text
    assert text.endswith(f"... and {100 - MAX_ERRORS} more")


def test_errors_without_a_line_are_still_told() -> None:
    """An assembler's error, a wrong option and a kernel that does not exist say what happened."""
    assert "Not a name of any known instruction" in own_errors(
        "ptxas application ptx input, line 30; error   : Not a name of any known instruction: 'bogus'\n", FILES
    )
    assert "unrecognized option" in own_errors("nvrtc: error: unrecognized option -x found\n", FILES)
    missing = own_errors('__nv_name_map(2): error: identifier "nothere" is undefined\n', FILES)
    assert missing == 'in the name of the kernel: identifier "nothere" is undefined'
    assert "named no line" in own_errors("", FILES)


@given(st.text())
def test_any_log_gives_short_plain_text(log: str) -> None:
    """Whatever the compiler wrote, the message is short and holds no control character."""
    for text in (own_errors(log, FILES), own_errors("demo/scale.cu(1): error: " + log * 50, FILES)):
        assert len(text) <= MAX_CHARACTERS + 4
        assert all(character == "\n" or " " <= character <= "~" for character in text)
