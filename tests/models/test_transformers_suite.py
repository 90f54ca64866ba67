"""Our models in transformers' own model tests."""

import contextlib
import unittest

import pytest
import torch

from summarizer.models import (
    FastformerSummarizerForConditionalGeneration,
    FastformerSummarizerForSequenceClassification,
    FastformerSummarizerModel,
)
from tests.models.transformers_suite import leave_out, model_tests
from tests.tiny import padded_batch, tiny_config

ModelTesterMixin = model_tests().ModelTesterMixin
pytestmark = pytest.mark.filterwarnings("default")  # these tests are not ours


class Sizes:
    """What the tests ask for: a configuration, inputs and their sizes."""

    batch_size, seq_length, encoder_seq_length, decoder_seq_length = 3, 9, 9, 5
    hidden_size, num_hidden_layers, is_training = 16, 2, True

    def __init__(self, is_encoder_decoder):
        self.is_encoder_decoder = is_encoder_decoder

    def get_config(self):
        return tiny_config(neighbor_kernel_size=3, is_encoder_decoder=self.is_encoder_decoder)

    def prepare_config_and_inputs_for_common(self):
        inputs = padded_batch([9, 9, 4])
        if self.is_encoder_decoder:
            inputs["decoder_input_ids"] = padded_batch([5, 5, 5], seed=1)["input_ids"]
        return self.get_config(), inputs


class WithLabels(ModelTesterMixin):
    has_attentions = False  # the encoder has none; tests/models/test_outputs.py has the tests of the decoder's

    def setUp(self):
        self.model_tester = Sizes(self.is_encoder_decoder)

    @contextlib.contextmanager
    def subTest(self, *_, **__):  # noqa: N802 (of unittest)
        with contextlib.suppress(unittest.SkipTest):  # that of one model, such as one without a cache
            yield

    def _prepare_for_class(self, inputs_dict, model_class, return_labels=False):
        inputs = super()._prepare_for_class(inputs_dict, model_class)
        if return_labels:
            inputs["labels"] = inputs.get("decoder_input_ids", torch.zeros(3, dtype=torch.long))
        return inputs


@leave_out
class SummarizerTest(WithLabels, unittest.TestCase):
    all_model_classes = (FastformerSummarizerModel, FastformerSummarizerForConditionalGeneration)
    is_encoder_decoder = True


@leave_out
class ClassifierTest(WithLabels, unittest.TestCase):
    all_model_classes = (FastformerSummarizerForSequenceClassification,)
