"""Architectures of torchvision and transformers, with random weights and sizes that are small: what is called is the
same as in the large ones."""
import dataclasses
from typing import Any, Callable

import torch
from torch import nn

TOKENS, LENGTH, WIDTH, LAYERS, HEADS = 64, 12, 32, 2, 4


@dataclasses.dataclass(frozen=True)
class Architecture:
    name: str
    make: Callable[[], nn.Module]
    inputs: Callable[[int], dict[str, torch.Tensor]]  # for a batch of n
    result: Callable[[Any], torch.Tensor]  # of what the model gives


def define_operators():
    """torchvision's own operators where its library, which is built for one build of PyTorch, cannot be loaded: their
    schemas, without which its models cannot be imported. Those below call none of them."""
    import importlib.util
    import pathlib
    try:
        torch.ops.load_library(next(pathlib.Path(importlib.util.find_spec("torchvision").origin).parent.glob("_C*.so")))
    except (OSError, StopIteration):
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        return library


def of_torchvision():
    from torchvision import models
    from torchvision.models import convnext, swin_transformer, vision_transformer

    def images(size):
        return lambda n: {"x": torch.randn(n, 3, size, size)}

    def itself(result):
        return result

    def classifier(name, size=64, **settings):
        return Architecture(f"torchvision {name}", lambda: getattr(models, name)(
            weights=None, num_classes=10, **settings), images(size), itself)
    for name in ("alexnet", "resnet18", "resnet50", "resnext50_32x4d", "densenet121", "squeezenet1_1", "mobilenet_v2",
                 "mobilenet_v3_small", "shufflenet_v2_x0_5", "mnasnet0_5", "efficientnet_b0", "regnet_y_400mf"):
        yield classifier(name)
    yield classifier("googlenet", size=96, aux_logits=False, init_weights=False)
    yield Architecture("torchvision vit", lambda: vision_transformer.VisionTransformer(32, 8, LAYERS, HEADS, WIDTH,
                                                                                      2 * WIDTH, num_classes=10),
                       images(32), itself)
    for name, block in (("swin", None), ("swin_v2", swin_transformer.SwinTransformerBlockV2)):
        more = {"block": block, "downsample_layer": swin_transformer.PatchMergingV2} if block else {}
        yield Architecture(f"torchvision {name}", lambda more=more: swin_transformer.SwinTransformer(
            [4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=10, **more), images(32), itself)
    yield Architecture("torchvision convnext", lambda: convnext.ConvNeXt(
        [convnext.CNBlockConfig(16, 32, 2), convnext.CNBlockConfig(32, None, 2)], num_classes=10), images(32), itself)
    yield Architecture("torchvision r3d_18", lambda: models.video.r3d_18(weights=None, num_classes=10),
                       lambda n: {"x": torch.randn(n, 3, 4, 32, 32)}, itself)
    alone = {"aux_loss": False}
    for name, given, more in (("fcn_resnet50", "x", alone), ("deeplabv3_resnet50", "x", alone),
                              ("lraspp_mobilenet_v3_large", "input", {})):
        yield Architecture(f"torchvision {name}", lambda name=name, more=more: getattr(models.segmentation, name)(
            weights=None, weights_backbone=None, num_classes=4, **more),
            lambda n, given=given: {given: torch.randn(n, 3, 48, 48)}, lambda found: found["out"])


def of_transformers():
    import transformers

    def tokens(n):
        return {"input_ids": torch.randint(1, TOKENS, (n, LENGTH)), "attention_mask": torch.ones(n, LENGTH).long()}

    def both(n):
        return {**tokens(n), "decoder_input_ids": torch.randint(1, TOKENS, (n, LENGTH // 2))}

    def logits(found):
        return found.logits

    def hidden(found):
        return found.last_hidden_state
    usual = {"vocab_size": TOKENS, "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
             "intermediate_size": 2 * WIDTH, "max_position_embeddings": 2 * LENGTH}

    def architecture(name, kind, inputs=tokens, result=logits, **settings):
        def make():
            config = getattr(transformers, f"{name}Config")(**settings)
            config.use_cache = False
            return getattr(transformers, kind)(config)
        return Architecture(f"transformers {kind}", make, inputs, result)
    for name in ("Bert", "Roberta", "Electra", "MPNet", "Albert", "Ernie"):
        more = {"embedding_size": WIDTH} if name in ("Electra", "Albert") else {}
        yield architecture(name, f"{name}ForMaskedLM", **usual, **more)
    yield architecture("DebertaV2", "DebertaV2ForMaskedLM", **usual, relative_attention=True,
                       pos_att_type=["p2c", "c2p"])
    yield architecture("DistilBert", "DistilBertForMaskedLM", vocab_size=TOKENS, dim=WIDTH, n_layers=LAYERS,
                       n_heads=HEADS, hidden_dim=2 * WIDTH, max_position_embeddings=2 * LENGTH)
    yield architecture("GPT2", "GPT2LMHeadModel", vocab_size=TOKENS, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
                       n_positions=2 * LENGTH)
    yield architecture("GPTNeoX", "GPTNeoXForCausalLM", **usual)
    for name in ("Llama", "Mistral", "Qwen2", "Qwen3", "Gemma", "Phi", "StableLm", "Olmo2"):
        yield architecture(name, f"{name}ForCausalLM", **usual, num_key_value_heads=2, head_dim=WIDTH // HEADS,
                           pad_token_id=0)
    yield architecture("OPT", "OPTForCausalLM", vocab_size=TOKENS, hidden_size=WIDTH, num_hidden_layers=LAYERS,
                       num_attention_heads=HEADS, ffn_dim=2 * WIDTH, max_position_embeddings=2 * LENGTH,
                       word_embed_proj_dim=WIDTH)
    yield architecture("Bloom", "BloomForCausalLM", vocab_size=TOKENS, hidden_size=WIDTH, n_layer=LAYERS, n_head=HEADS)
    yield architecture("T5", "T5ForConditionalGeneration", both, vocab_size=TOKENS, d_model=WIDTH, d_kv=8, d_ff=64,
                       num_layers=LAYERS, num_heads=HEADS)
    yield architecture("Bart", "BartForConditionalGeneration", both, vocab_size=TOKENS, d_model=WIDTH,
                       encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=HEADS,
                       decoder_attention_heads=HEADS, encoder_ffn_dim=64, decoder_ffn_dim=64,
                       max_position_embeddings=2 * LENGTH)

    def pixels(n):
        return {"pixel_values": torch.randn(n, 3, 32, 32)}
    seen = {"image_size": 32, "patch_size": 8, "hidden_size": WIDTH, "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS, "intermediate_size": 2 * WIDTH}
    yield architecture("ViT", "ViTForImageClassification", pixels, **seen)
    yield architecture("Dinov2", "Dinov2Model", pixels, hidden, **{**seen, "mlp_ratio": 2})
    yield architecture("ConvNextV2", "ConvNextV2ForImageClassification", pixels, hidden_sizes=[8, 16, 16, 32],
                       depths=[1, 1, 1, 1])
    yield architecture("Segformer", "SegformerForSemanticSegmentation", pixels, hidden_sizes=[8, 16, 16, 32],
                       depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16)
    yield architecture("Whisper", "WhisperModel", lambda n: {
        "input_features": torch.randn(n, 8, 2 * LENGTH), "decoder_input_ids": torch.randint(1, TOKENS, (n, 6))}, hidden,
        vocab_size=TOKENS, num_mel_bins=8, d_model=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS,
        encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=64, decoder_ffn_dim=64,
        max_source_positions=LENGTH, max_target_positions=LENGTH, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=1)


def architectures():
    kept = define_operators()  # as long as models are made
    yield from of_torchvision()
    yield from of_transformers()
    del kept
