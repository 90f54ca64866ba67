"""The options of `summarizer summarize` and the fields of the data class that they fill."""

import inspect
from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from summarizer.cli.summarize import summarize
from summarizer.generation.options import SummarySettings

TYPES = get_type_hints(SummarySettings)


@pytest.mark.parametrize("field", fields(SummarySettings), ids=lambda field: field.name)
def test_each_field_has_an_option_of_its_name_type_and_default(field):
    parameter = inspect.signature(summarize).parameters[field.name]
    assert get_args(parameter.annotation)[0] == TYPES[field.name]
    assert parameter.default == field.default
