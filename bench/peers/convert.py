"""Gives a Hugging Face folder (Llama or Qwen2, float32) to the peers: GGUF F32, Q8_0 and Q4_0, and ONNX for transformers.js.

    python convert.py MODEL_DIR OUT_DIR

writes OUT_DIR/gguf/{f32,q8_0,q4_0,q4_0-head8}.gguf and OUT_DIR/onnx/{config.json, generation_config.json, onnx/model.onnx, onnx/model.onnx_data}.
"""

import argparse
import json
import shutil
from pathlib import Path

import gguf
import numpy as np
import onnx
from onnx import TensorProto, helper
from safetensors import safe_open

POSITIONS = 4096  # rows of the rotary tables
GGUF_NAMES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


class Model:
    """Config and tensors of a Hugging Face folder; tensors are read when asked for."""

    def __init__(self, folder: Path):
        self.config = json.loads((folder / "config.json").read_text())
        self.files = {}
        for file in sorted(folder.glob("*.safetensors")):
            handle = safe_open(file, "numpy")
            self.files.update({name: handle for name in handle.keys()})
        c = self.config
        self.kind = c["model_type"]
        self.layers = c["num_hidden_layers"]
        self.hidden = c["hidden_size"]
        self.heads = c["num_attention_heads"]
        self.kv_heads = c["num_key_value_heads"]
        self.head_dim = c.get("head_dim") or self.hidden // self.heads
        self.rope_theta = c.get("rope_theta") or c["rope_parameters"]["rope_theta"]
        self.tied = "lm_head.weight" not in self.files
        if self.kind not in ("llama", "qwen2"):
            raise SystemExit(f"convert.py knows llama and qwen2, not {self.kind}.")

    def __getitem__(self, name: str) -> np.ndarray:
        tensor = self.files[name].get_tensor(name)
        if tensor.dtype != np.float32:
            raise SystemExit(f"{name} is {tensor.dtype}; the peers are measured on float32.")
        return tensor

    def __contains__(self, name: str) -> bool:
        return name in self.files


# --- GGUF -----------------------------------------------------------------------------------------------------------


def interleave_rotary_rows(array: np.ndarray, heads: int) -> np.ndarray:
    """llama.cpp rotates neighbouring rows of a llama-type head, transformers rotates its halves."""
    rows = array.shape[0] // heads // 2
    return array.reshape(heads, 2, rows, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)


def gguf_tensors(model: Model):
    yield "token_embd.weight", model["model.embed_tokens.weight"]
    yield "output_norm.weight", model["model.norm.weight"]
    if not model.tied:
        yield "output.weight", model["lm_head.weight"]
    for layer in range(model.layers):
        for path, short in GGUF_NAMES.items():
            for part in ("weight", "bias"):
                name = f"model.layers.{layer}.{path}.{part}"
                if name not in model:
                    continue
                tensor = model[name]
                if model.kind == "llama" and short in ("attn_q", "attn_k"):
                    tensor = interleave_rotary_rows(tensor, model.heads if short == "attn_q" else model.kv_heads)
                yield f"blk.{layer}.{short}.{part}", np.ascontiguousarray(tensor)


FILE_TYPES = {
    "F32": gguf.LlamaFileType.ALL_F32,
    "Q8_0": gguf.LlamaFileType.MOSTLY_Q8_0,
    "Q4_0": gguf.LlamaFileType.MOSTLY_Q4_0,
}


def write_gguf(model: Model, file: Path, linears: str, head: str) -> None:
    """`linears` and `head` (with the embedding) are names of quantizations; vectors stay in F32."""
    file.parent.mkdir(parents=True, exist_ok=True)
    c, vocab = model.config, model.config["vocab_size"]
    writer = gguf.GGUFWriter(file, model.kind)
    writer.add_context_length(c["max_position_embeddings"])
    writer.add_embedding_length(model.hidden)
    writer.add_block_count(model.layers)
    writer.add_feed_forward_length(c["intermediate_size"])
    writer.add_head_count(model.heads)
    writer.add_head_count_kv(model.kv_heads)
    writer.add_layer_norm_rms_eps(c["rms_norm_eps"])
    writer.add_rope_freq_base(model.rope_theta)
    writer.add_rope_dimension_count(model.head_dim)
    writer.add_vocab_size(vocab)
    writer.add_file_type(FILE_TYPES[linears])
    # The benchmark speaks in ids: a tokenizer that only has to load.
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([f"t{i}" for i in range(vocab)])
    writer.add_token_types([gguf.TokenType.NORMAL] * vocab)
    writer.add_token_merges(["t 1", "t 2"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    for name, tensor in gguf_tensors(model):
        kind = head if name in ("token_embd.weight", "output.weight") else linears
        if kind == "F32" or tensor.ndim != 2:
            writer.add_tensor(name, tensor)
        else:
            quantization = gguf.GGMLQuantizationType[kind]
            writer.add_tensor(name, gguf.quants.quantize(tensor, quantization), raw_dtype=quantization)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# --- ONNX -----------------------------------------------------------------------------------------------------------


class OnnxWriter:
    """Nodes, and initializers whose bytes go straight to the external data file."""

    def __init__(self, data_file: Path):
        self.data_file = data_file
        self.data = open(data_file, "wb")
        self.nodes, self.initializers = [], []

    def node(self, op, inputs, outputs, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, name=outputs[0], domain=domain, **attributes))
        return outputs[0]

    def weight(self, name: str, array: np.ndarray) -> str:
        array = np.ascontiguousarray(array, dtype=np.float32)
        self.data.write(b"\0" * (-self.data.tell() % 4096))
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=array.shape)
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in dict(location=self.data_file.name, offset=self.data.tell(), length=array.nbytes).items():
            tensor.external_data.add(key=key, value=str(value))
        array.tofile(self.data)
        self.initializers.append(tensor)
        return name

    def constant(self, name: str, values, dtype=np.int64) -> str:
        self.initializers.append(onnx.numpy_helper.from_array(np.array(values, dtype), name))
        return name


MS = "com.microsoft"


def rotary_tables(model: Model):
    pairs = np.arange(0, model.head_dim, 2, dtype=np.float64) / model.head_dim
    angles = np.arange(POSITIONS, dtype=np.float64)[:, None] * model.rope_theta**-pairs
    return np.cos(angles), np.sin(angles)


def linear(w: OnnxWriter, name: str, x: str, weight: np.ndarray, bias: np.ndarray | None) -> str:
    y = w.node("MatMul", [x, w.weight(f"{name}.weight", weight.T)], [f"{name}.out"])
    return y if bias is None else w.node("Add", [y, w.weight(f"{name}.bias", bias)], [f"{name}.biased"])


def attention(w: OnnxWriter, model: Model, layer: int, x: str) -> str:
    """One packed product for q, k and v, then GroupQueryAttention with rotary positions inside: the common export."""
    path = f"model.layers.{layer}.self_attn"
    names = [f"{path}.{part}_proj" for part in "qkv"]
    weight = np.concatenate([model[f"{name}.weight"] for name in names])
    has_bias = f"{names[0]}.bias" in model
    bias = np.concatenate([model[f"{name}.bias"] for name in names]) if has_bias else None
    qkv = linear(w, f"{path}.qkv_proj", x, weight, bias)
    past, present = f"past_key_values.{layer}", f"present.{layer}"
    w.node(
        "GroupQueryAttention",
        [qkv, "", "", f"{past}.key", f"{past}.value", "seqlens_k", "total_length", "cos_cache", "sin_cache"],
        [f"{path}.out", f"{present}.key", f"{present}.value"],
        MS,
        num_heads=model.heads,
        kv_num_heads=model.kv_heads,
        do_rotary=1,
        rotary_interleaved=0,
        scale=model.head_dim**-0.5,
    )
    return linear(w, f"{path}.o_proj", f"{path}.out", model[f"{path}.o_proj.weight"], None)


def feed_forward(w: OnnxWriter, model: Model, layer: int, x: str) -> str:
    path = f"model.layers.{layer}.mlp"
    gate, up = (linear(w, f"{path}.{part}", x, model[f"{path}.{part}.weight"], None) for part in ("gate_proj", "up_proj"))
    sigmoid = w.node("Sigmoid", [gate], [f"{path}.sigmoid"])
    silu = w.node("Mul", [gate, sigmoid], [f"{path}.silu"])
    product = w.node("Mul", [silu, up], [f"{path}.product"])
    return linear(w, f"{path}.down_proj", product, model[f"{path}.down_proj.weight"], None)


def decoder(w: OnnxWriter, model: Model) -> None:
    epsilon = dict(epsilon=model.config["rms_norm_eps"])
    w.constant("one", [1]), w.constant("one_scalar", 1)
    lengths = w.node("ReduceSum", ["attention_mask", "one"], ["lengths"], keepdims=0)
    w.node("Cast", [w.node("Sub", [lengths, "one"], ["last_positions"])], ["seqlens_k"], to=TensorProto.INT32)
    shape = w.node("Shape", ["attention_mask"], ["mask_shape"])
    total = w.node("Gather", [shape, "one_scalar"], ["total"], axis=0)
    w.node("Cast", [total], ["total_length"], to=TensorProto.INT32)
    for name, table in zip(("cos_cache", "sin_cache"), rotary_tables(model)):
        w.weight(name, table)
    embedding = w.weight("embed_tokens", model["model.embed_tokens.weight"])
    residual = w.node("Gather", [embedding, "input_ids"], ["embedded"], axis=0)
    norm = w.weight("norm.0", model["model.layers.0.input_layernorm.weight"])
    x = w.node("SimplifiedLayerNormalization", [residual, norm], ["normed.0"], axis=-1, stash_type=1, **epsilon)

    def add_and_norm(name: str, residual: str, addend: str, weight: np.ndarray):
        scale = w.weight(f"{name}.weight", weight)
        outputs = [f"{name}.out", "", "", f"{name}.sum"]
        w.node("SkipSimplifiedLayerNormalization", [residual, addend, scale], outputs, MS, **epsilon)
        return f"{name}.sum", f"{name}.out"

    for layer in range(model.layers):
        path = f"model.layers.{layer}"
        addend = attention(w, model, layer, x)
        after = model[f"{path}.post_attention_layernorm.weight"]
        residual, x = add_and_norm(f"{path}.post_norm", residual, addend, after)
        addend = feed_forward(w, model, layer, x)
        last = layer == model.layers - 1
        after = model["model.norm.weight" if last else f"model.layers.{layer + 1}.input_layernorm.weight"]
        residual, x = add_and_norm(f"{path}.next_norm", residual, addend, after)
    # transformers.js asks for the last position only while it generates.
    w.constant("end", [2**62])
    kept = w.node("Neg", [w.node("Reshape", ["num_logits_to_keep", "one"], ["keep"])], ["start"])
    x = w.node("Slice", [x, kept, "end", "one"], ["kept"])
    if model.tied:
        w.node("FusedMatMul", [x, embedding], ["logits"], MS, transB=1)
    else:
        w.node("MatMul", [x, w.weight("lm_head", model["lm_head.weight"].T)], ["logits"])


def write_onnx(model: Model, source: Path, folder: Path) -> None:
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    w = OnnxWriter(folder / "onnx" / "model.onnx_data")
    decoder(w, model)
    w.data.close()
    info, int64, float32 = helper.make_tensor_value_info, TensorProto.INT64, TensorProto.FLOAT
    inputs = [
        info("input_ids", int64, ["batch_size", "sequence_length"]),
        info("attention_mask", int64, ["batch_size", "total_sequence_length"]),
        info("num_logits_to_keep", int64, []),
    ]
    outputs = [info("logits", float32, ["batch_size", "num_logits", model.config["vocab_size"]])]
    for layer in range(model.layers):
        for part in ("key", "value"):
            # transformers.js finds the batch by the name of this dimension; every unknown name becomes 0.
            past = ["batch_size", model.kv_heads, "past_sequence_length", model.head_dim]
            inputs.append(info(f"past_key_values.{layer}.{part}", float32, past))
            total = ["batch_size", model.kv_heads, "total_sequence_length", model.head_dim]
            outputs.append(info(f"present.{layer}.{part}", float32, total))
    graph = helper.make_graph(w.nodes, "decoder", inputs, outputs, w.initializers)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MS, 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), folder / "onnx" / "model.onnx")
    for name in ("config.json", "generation_config.json"):
        if (source / name).exists():
            shutil.copy(source / name, folder / name)
    config = json.loads((folder / "config.json").read_text())
    config["transformers.js_config"] = {"use_external_data_format": True}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    model = Model(arguments.model)
    write_onnx(model, arguments.model, arguments.out / "onnx")
    write_gguf(model, arguments.out / "gguf" / "f32.gguf", "F32", "F32")
    write_gguf(model, arguments.out / "gguf" / "q4_0.gguf", "Q4_0", "Q4_0")
    write_gguf(model, arguments.out / "gguf" / "q4_0-head8.gguf", "Q4_0", "Q8_0")
    write_gguf(model, arguments.out / "gguf" / "q8_0.gguf", "Q8_0", "Q8_0")
