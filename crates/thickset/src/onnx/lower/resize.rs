//! Images made larger or smaller: each pixel of the result is one pixel of the image, or a mixture of the four around a place.

use thickset_engine::layer::Form;

use super::{Lowering, Made, Value};
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

pub(super) fn lower(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Value>> {
    if !matches!(node.operator.as_str(), "Resize" | "Upsample") {
        return Ok(None);
    }
    let made = to.tensor(node, 0)?;
    let [1, channels, height, width] = made.dims[..] else {
        return Err(node.unsupported(format!("sizes {:?}; images are read", made.dims), ""));
    };
    let target = target(to, node, [height, width])?;
    let dims = vec![1, channels, target[0].0, target[1].0];
    crate::onnx::fold::check_made(&dims)?;
    let mode = node.text("mode").unwrap_or_else(|| "nearest".to_owned());
    let axes = [(height, target[0]), (width, target[1])].map(|axis| places(to, node, &mode, axis));
    let [rows, columns] = axes;
    let (rows, columns) = (rows?, columns?);
    // The sum of up to four pixels, each with its weights.
    let mut sum: Option<Made> = None;
    for row in 0..rows[0].len() {
        for column in 0..columns[0].len() {
            let (mut indices, mut weights) = (Vec::new(), Vec::new());
            for channel in 0..channels {
                for from in &rows {
                    for at in &columns {
                        let ((y, a), (x, b)) = (from[row], at[column]);
                        indices.push((channel * height + y) * width + x);
                        weights.push(a * b);
                    }
                }
            }
            if weights.iter().all(|&weight| weight == 0.0) {
                continue;
            }
            let picked = to.gathered(&made, dims.clone(), &indices)?;
            let is_whole = mode == "nearest";
            let part = if is_whole {
                picked
            } else {
                to.affine(&picked, &weights, &[0.0], None)?
            };
            sum = Some(match sum {
                Some(sum) => to.add(Form::Add, &[&sum, &part], dims.clone())?,
                None => part,
            });
        }
    }
    sum.map(|sum| Some(Value::Tensor(sum)))
        .ok_or_else(|| node.broken("nothing is left"))
}

/// Height and width of the result, and how much larger each is.
fn target(to: &mut Lowering<'_>, node: &Node, size: [usize; 2]) -> Result<[(usize, f64); 2]> {
    let is_old = node.operator == "Upsample" || to.graph.opset < 11;
    let scales = to.constant(node, if is_old { 1 } else { 2 })?;
    let scales = scales.map_or(Ok(node.floats("scales")), |scales| scales.to_floats())?;
    let sizes = if is_old { None } else { to.constant(node, 3)? };
    let plain = node.ints("axes").is_none() || node.ints("axes") == Some(vec![2, 3]);
    if !plain {
        return Err(node.unsupported("it resizes axes other than height and width", ""));
    }
    let last = |values: &[f64]| -> Option<[f64; 2]> {
        let (before, last) = values.split_at(values.len().checked_sub(2)?);
        before
            .iter()
            .all(|&one| (one - 1.0).abs() < 1e-12)
            .then_some([last[0], last[1]])
    };
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes of images, checked"
    )]
    let made = if let Some(scales) = last(&scales) {
        [0, 1].map(|axis| {
            (
                (size[axis] as f64 * scales[axis]).floor().clamp(0.0, 1e6) as usize,
                scales[axis],
            )
        })
    } else if let Some(sizes) = sizes {
        let sizes = sizes.to_whole()?;
        let Some(last) = sizes.len().checked_sub(2).map(|start| &sizes[start..]) else {
            return Err(node.broken("its sizes are missing"));
        };
        [0, 1].map(|axis| {
            let made = usize::try_from(last[axis]).unwrap_or(0).min(1_000_000);
            (made, made as f64 / size[axis] as f64)
        })
    } else {
        return Err(node.unsupported("it resizes more than height and width", ""));
    };
    let is_image = |&(made, scale): &(usize, f64)| made > 0 && scale.is_finite() && scale > 0.0;
    if made.iter().all(is_image) {
        Ok(made)
    } else {
        Err(node.broken(format!("{size:?} pixels become {made:?}")))
    }
}

/// For each place of the result, the places of the image and their weights: one, or the two around it.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "places of an image, clamped"
)]
fn places(
    to: &Lowering<'_>,
    node: &Node,
    mode: &str,
    (size, (made, scale)): (usize, (usize, f64)),
) -> Result<Vec<Vec<(usize, f64)>>> {
    let is_old = node.operator == "Upsample" || to.graph.opset < 11;
    let coordinates = node
        .text("coordinate_transformation_mode")
        .unwrap_or_else(|| if is_old { "asymmetric" } else { "half_pixel" }.to_owned());
    let last = (size - 1) as f64;
    let place = |at: usize| {
        let at = at as f64;
        Ok(match coordinates.as_str() {
            "pytorch_half_pixel" | "align_corners" if made == 1 => 0.0,
            "half_pixel" | "pytorch_half_pixel" => (at + 0.5) / scale - 0.5,
            "asymmetric" => at / scale,
            "align_corners" => at * last / (made - 1) as f64,
            other => return Err(node.unsupported(format!("coordinates by `{other}`"), "")),
        })
    };
    let is_cubic = !matches!(mode, "nearest" | "linear");
    if is_cubic || node.int("antialias", 0) != 0 {
        return Err(node.unsupported(
            format!("the mode `{mode}`; `nearest` and `linear` without antialiasing are read"),
            "resize images before the model",
        ));
    }
    let nearest = node.text("nearest_mode").unwrap_or_else(|| {
        if is_old {
            "floor"
        } else {
            "round_prefer_floor"
        }
        .to_owned()
    });
    let mut all = Vec::with_capacity(made);
    for at in 0..made {
        let x = place(at)?;
        let x = if mode == "linear" {
            x.clamp(0.0, last)
        } else {
            x
        };
        all.push(if mode == "linear" {
            let low = x.floor();
            let high = (low + 1.0).min(last);
            vec![(low as usize, 1.0 - (x - low)), (high as usize, x - low)]
        } else {
            let chosen = match nearest.as_str() {
                "floor" => x.floor(),
                "ceil" => x.ceil(),
                "round_prefer_ceil" => (x + 0.5).floor(),
                _ => (x - 0.5).ceil(),
            };
            vec![(chosen.clamp(0.0, last) as usize, 1.0)]
        });
    }
    Ok(all)
}
