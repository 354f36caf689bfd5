"""Small Keras models, as tf2onnx writes them: an embedding that counts from the end where an index is negative, a cropped image, choices
written as products with 0 and 1, a transposed and a separable convolution, squeeze and excitation.

Made with Keras 3.15.1, TensorFlow 2.21.0, tf2onnx 1.17.0, onnx 1.23.2, onnxruntime 1.31.1, NumPy 2.4. `python make.py` from this folder: each
model with onnxruntime's outputs and TensorFlow's gradient of the largest probability.
"""

import os

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import keras
import numpy as np
import onnxruntime as ort
import tensorflow as tf
import tf2onnx
from keras import layers as K


def save(name, model, x):
    kind = tf.TensorSpec((None, *model.inputs[0].shape[1:]), model.inputs[0].dtype, name="x")
    function = tf.function(lambda a: model(a, training=False), input_signature=[kind])
    tf2onnx.convert.from_function(function, [kind], opset=15, output_path=f"{name}.onnx")
    session = ort.InferenceSession(f"{name}.onnx", providers=["CPUExecutionProvider"])
    arrays = {"in:x": x}
    for output, value in zip(session.get_outputs(), session.run(None, {"x": x})):
        arrays["out:" + output.name] = value
    if x.dtype == np.float32:
        at = tf.convert_to_tensor(x)
        with tf.GradientTape() as tape:
            tape.watch(at)
            best = tf.reduce_max(model(at, training=False), 1)
        arrays["tf:grad_p"] = tape.gradient(best, at).numpy()
    np.savez_compressed(f"{name}.npz", **arrays)
    print(name, os.path.getsize(f"{name}.onnx"))


def excited(x):
    share = K.Dense(4, activation="sigmoid")(K.Dense(2, activation="relu")(K.GlobalAveragePooling2D()(x)))
    return K.Multiply()([x, K.Reshape((1, 1, 4))(share)])


def main():
    keras.utils.set_random_seed(0)
    draws = np.random.default_rng(0)
    end = lambda: K.Dense(3, activation="softmax")  # noqa: E731
    image = draws.normal(size=(4, 7, 7, 1)).astype(np.float32)
    table = draws.normal(size=(6, 5)).astype(np.float32)
    places = K.Input((3,), dtype="int32")
    embedded = keras.Model(places, end()(K.Flatten()(K.Embedding(7, 4)(places))))
    save("embedding", embedded, draws.integers(0, 7, (6, 3)).astype(np.int32))
    conv = [K.Input((7, 7, 1)), K.ZeroPadding2D(((1, 0), (2, 1))), K.Conv2D(2, 3), K.Cropping2D(1), K.Flatten(), end()]
    save("cropped", keras.Sequential(conv), image)
    relu = K.ReLU(max_value=6, negative_slope=0.1, threshold=0.2)
    save("leaky_above", keras.Sequential([K.Input((5,)), K.Dense(8), relu, end()]), table)
    larger = K.Conv2DTranspose(3, 3, strides=2, padding="same", activation="elu")
    save("transposed", keras.Sequential([K.Input((7, 7, 1)), K.Conv2D(2, 3, strides=2), larger, K.Flatten(), end()]), image)
    first = K.Input((7, 7, 1))
    mixed = K.SeparableConv2D(4, 3, strides=2, padding="same", activation="relu")(first)
    save("squeeze_excite", keras.Model(first, end()(K.GlobalAveragePooling2D()(excited(mixed)))), image)


if __name__ == "__main__":
    main()
