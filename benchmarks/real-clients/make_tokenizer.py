"""Makes a small Hugging Face tokenizer of this repository's texts, for load generators that insist on one."""

import pathlib
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

root = pathlib.Path(__file__).resolve().parents[2]
texts = [str(file) for file in sorted(root.rglob("*.md"))]
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.train(texts, trainers.BpeTrainer(
    vocab_size=8000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|endoftext|>"]))
wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>", pad_token="<|endoftext|>")
wrapped.chat_template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: "
wrapped.save_pretrained(sys.argv[1])
print(f"{len(wrapped)} tokens in {sys.argv[1]}")
