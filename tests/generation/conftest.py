from tests.tiny_published import bart, documents, model_folder, t5, text_of, tokenizer

__all__ = ["bart", "documents", "model_folder", "t5", "text_of", "tokenizer"]
