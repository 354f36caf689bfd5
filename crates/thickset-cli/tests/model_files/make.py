"""Makes wide_convolution.onnx with onnx 1.23: `python make.py`. A convolution of 64 channels on an image of 256 x 256, in 1.2 kilobytes."""

import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def constant(name, shape):
    return numpy_helper.from_array(np.ones(shape, dtype=np.float32), name)


nodes = [
    helper.make_node("Conv", ["x", "filters"], ["maps"]),
    helper.make_node("Relu", ["maps"], ["positive"]),
    helper.make_node("GlobalAveragePool", ["positive"], ["means"]),
    helper.make_node("Flatten", ["means"], ["flat"]),
    helper.make_node("Gemm", ["flat", "weight"], ["scores"], transB=1),
    helper.make_node("Sigmoid", ["scores"], ["y"]),
]
graph = helper.make_graph(
    nodes,
    "wide",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, 256, 256])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])],
    [constant("filters", (64, 1, 1, 1)), constant("weight", (3, 64))],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
model.ir_version = 8
pathlib.Path(__file__).with_name("wide_convolution.onnx").write_bytes(model.SerializeToString())
