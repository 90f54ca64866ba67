"""Small texts, and a tokenizer trained on them, that the tests of data, training and the command line share."""

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

TEXTS = (
    "The patients were treated for six weeks, and 42.5 % of them improved (p < 0.05). The others did not.",
    "A second group of 1,073 older people did not respond to the therapy because of other diseases.",
    "We measured the blood pressure of each participant twice a day, in the morning and in the evening.",
    "患者接受了六个星期的治疗，其中百分之四十二有所好转。其他人没有。我们每天测量两次血压。",
    "患者は六週間の治療を受け、そのうち４２％が改善した。残りの人々は改善しなかった。",
    "Пациенты получали лечение в течение шести недель, и состояние 42 % из них улучшилось.",
    "मरीजों का छह सप्ताह तक इलाज किया गया, और उनमें से ४२ प्रतिशत में सुधार हुआ।",
    "عولج المرضى لمدة ستة أسابيع، وتحسنت حالة ٤٢ بالمئة منهم، أما الآخرون فلم يتحسنوا.",
    "def mean(values):\nif not values: raise ValueError('empty')\nreturn sum(values) / len(values)  # 0x2A",
)
UNSEEN = (
    "Zürich’s naïve café — “quoted” – costs €12,345.67; x² + y² ≤ z³, α→β, ½, №5.",
    "龘靐齉 鬱 ㍿ ﷽ ⴰⵣⵓⵍ ᚠᚢᚦ ሰላም שָׁלוֹם สวัสดี 안녕하세요",
    "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇨🇭 e\u0301 ≠ é 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0010fffd",
    "for (int i = 0; i < n; ++i) { a[i] <<= 2; } // </s> <pad> <unk> <mask> <s> <0x41> <0x0A> ▁▂▃ ▁",
    "first line\nsecond line\n▁third\n<0x0A>\nlast",
)
WORDS = [
    *("patients", "treatment", "weeks", "blood", "pressure", "group", "therapy", "results", "improvement", "symptoms"),
    *("people", "diseases", "cells", "study", "method", "model", "data", "test", "control", "effect", "risk", "dose"),
]


@cache
def tiny_tokenizer() -> Any:
    """A tokenizer of 500 pieces."""
    from summarizer.data.tokenizer import train_tokenizer

    return train_tokenizer([*TEXTS, *(sentence(12, seed) for seed in range(300))], vocab_size=500, num_threads=1)


def sentence(num_words: int, seed: int) -> str:
    generator = random.Random(seed)
    return " ".join(generator.choices(WORDS, k=num_words)).capitalize() + "."


def pair_rows(count: int, seed: int = 0, longest: int = 6) -> list[dict[str, str]]:
    """Rows of id, document (1 to `longest` sentences, one a line) and summary (its first sentence)."""
    generator = random.Random(seed)
    rows = []
    for number in range(count):
        lines = [sentence(generator.randint(3, 9), seed=1000 * seed + 10 * number + i) for i in range(longest)]
        lines = lines[: generator.randint(1, longest)]
        rows.append({"id": f"{seed}-{number}", "document": "\n".join(lines), "summary": lines[0]})
    return rows


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path
