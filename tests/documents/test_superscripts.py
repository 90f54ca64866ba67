import pytest

from summarizer.documents.superscripts import END, START, resolve_superscripts


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("3 × 10<6> fish", "3 × 10^6 fish"),
        ("10<−6> or 10<-3> g", "10^−6 or 10^-3 g"),
        ("in 2010<3>, and", "in 2010, and"),
        ("in 2010<3,4> and 1999<5–7>", "in 2010 and 1999"),
        ("per m<3> and cm<2> and km<2>", "per m^3 and cm^2 and km^2"),
        ("9.81 m s<−2>, 40 mL<−1>", "9.81 m s^−2, 40 mL^−1"),
        ("E = mc<2>, R<2> = 0.9, x<n>", "E = mc^2, R^2 = 0.9, x^n"),
        ("(a+b)<2> but (Holm)<2>", "(a+b)^2 but (Holm)"),
        ("5 in<2> is it<2>", "5 in^2 is it"),
        ("of the lake<12>. It fell.<3>", "of the lake. It fell."),
        ("lake<[12]> and [see<note>]", "lake and [seenote]"),
        ("1<st> of May, M<me> Curie, 2<e> étage, Quay<™>", "1st of May, Mme Curie, 2e étage, Quay™"),
        ("Ca<2+> and Na<+> and <14>C", "Ca2+ and Na+ and 14C"),
        ("<1> See the appendix.", " See the appendix."),
        ("<1>Department of Fish", "Department of Fish"),
        ("95%<3> and CO2<4> and 1.5<2>", "95% and CO2 and 1.5"),
        ("Smith<a,b>, Jones<*>", "Smith, Jones"),
        ("words<that stand higher>", "wordsthat stand higher"),
        ("<", ""),
    ],
)  # fmt: skip
def test_exponents_stay_and_citation_marks_go(marked, plain):
    assert resolve_superscripts(marked.replace("<", START).replace(">", END)) == plain
