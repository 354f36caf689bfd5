//! Every primitive on the GPU against the same on the CPU. Without an adapter there is nothing to compare, which is said.

use super::super::Numbers;
use super::super::array::Array;
use super::super::data::TensorData;
use super::super::device::Device;
use super::super::kind::DType;
use super::super::primitive::{
    Binary, Comparison, Kept, Unary, binary, cast, compare, compare_scalar, concatenate, download,
    embed, expand, full, gather, mask_fill, mask_where, matrix_product, max_axis, not, power,
    scalar, scatter_add, select, select_add, slice, sum, sum_axis, sum_to, swap_axes, unary,
    unary_gradient, upload,
};
use crate::kernel::Side::{Plain, Transposed};

/// Allowed difference, relative to the larger of 1 and the largest number. Shaders may round every function of numbers worse than
/// processors do, and sums have another order.
const TOLERANCE: f64 = 1e-5;

/// Whether there is an adapter; says so if not.
fn is_skipped() -> bool {
    match super::open() {
        Ok(()) => false,
        Err(problem) => {
            eprintln!("skipped, no GPU was found: {problem}");
            true
        }
    }
}

/// Numbers between -2 and 2 that never repeat.
fn numbers(size: &[usize], from: u16) -> Array {
    let count = u16::try_from(size.iter().product::<usize>()).unwrap();
    let values: Vec<f32> = (from..from + count)
        .map(|number| (f32::from(number + 1) * 0.618_034).fract() * 4.0 - 2.0)
        .collect();
    Array::new(values, size)
}

fn places(values: &[i32], size: &[usize]) -> Array {
    Array::new(values.to_vec(), size)
}

fn moved(array: &Array, device: Device) -> Array {
    upload(download(array.clone()), device)
}

fn values(array: &Array) -> Vec<f64> {
    download(array.clone()).iter::<f64>().collect()
}

/// Runs an operation on both devices and compares shapes, types and numbers.
fn agree(what: &str, arguments: &[Array], operation: impl Fn(&[Array]) -> Array) {
    let on_gpu: Vec<Array> = arguments
        .iter()
        .map(|argument| moved(argument, Device::Gpu))
        .collect();
    let (expected, got) = (operation(arguments), operation(&on_gpu));
    assert_eq!(got.device(), Device::Gpu, "{what}: device");
    assert_eq!(got.shape, expected.shape, "{what}: shape");
    assert_eq!(got.dtype(), expected.dtype(), "{what}: type");
    let (got, expected) = (values(&got), values(&expected));
    let largest = expected
        .iter()
        .fold(1.0_f64, |most, one| most.max(one.abs()));
    let mut most = 0.0_f64;
    for (place, (got, expected)) in got.iter().zip(&expected).enumerate() {
        let difference = (got - expected).abs() / largest;
        assert!(
            difference <= TOLERANCE,
            "{what}: number {place} is {got}, expected {expected}"
        );
        most = most.max(difference);
    }
    eprintln!("difference {most:.1e} of {TOLERANCE:.0e}: primitive: {what}");
    // What was given is not changed by what is made of it.
    for (argument, on_gpu) in arguments.iter().zip(&on_gpu) {
        assert_eq!(values(argument), values(on_gpu), "{what}: its arguments");
    }
}

const FUNCTIONS: [Unary; 15] = [
    Unary::Negate,
    Unary::Absolute,
    Unary::Sign,
    Unary::Exp,
    Unary::Log,
    Unary::LogOnePlus,
    Unary::SquareRoot,
    Unary::Reciprocal,
    Unary::Sine,
    Unary::Cosine,
    Unary::Tanh,
    Unary::Arctangent,
    Unary::InverseSinh,
    Unary::Erf,
    Unary::Sigmoid,
];

#[test]
fn functions_of_single_numbers_and_their_slopes() {
    if is_skipped() {
        return;
    }
    for function in FUNCTIONS {
        let x = numbers(&[3, 7], 0);
        // Where the function is defined, and far from a pole.
        let x = match function {
            Unary::Log | Unary::LogOnePlus | Unary::SquareRoot | Unary::Reciprocal => {
                scalar(Binary::Add, unary(Unary::Absolute, x), 0.1)
            }
            _ => x,
        };
        let what = format!("{function:?}");
        agree(&what, std::slice::from_ref(&x), |x| {
            unary(function, x[0].clone())
        });
        let kept = match function.kept() {
            Kept::Output => unary(function, x),
            Kept::Input | Kept::Nothing => x,
        };
        let given = [kept, numbers(&[3, 7], 50)];
        agree(&format!("slope of {what}"), &given, |given| {
            unary_gradient(function, Some(given[0].clone()), given[1].clone())
        });
    }
}

#[test]
fn functions_keep_their_limits_far_from_zero() {
    if is_skipped() {
        return;
    }
    let far = Array::new(vec![-90.0_f32, -20.0, -1e-6, 0.0, 1e-6, 20.0, 80.0], [7]);
    for function in [
        Unary::Sigmoid,
        Unary::Tanh,
        Unary::Erf,
        Unary::Sign,
        Unary::Arctangent,
    ] {
        agree(&format!("{function:?}"), std::slice::from_ref(&far), |x| {
            unary(function, x[0].clone())
        });
    }
    // `log1p` of a small number is nearly that number, which `log(1 + x)` is not.
    let small = [
        1e-9_f32, -3e-8, 1e-5, -1e-3, 0.1, -0.249, 0.249, -0.251, 0.251,
    ];
    let on_gpu = upload(TensorData::new(small.to_vec(), [9]), Device::Gpu);
    for (got, x) in values(&unary(Unary::LogOnePlus, on_gpu)).iter().zip(small) {
        let expected = f64::from(x).ln_1p();
        let difference = (got / expected - 1.0).abs();
        assert!(difference < TOLERANCE, "{x}: {got}, expected {expected}");
    }
}

#[test]
fn functions_of_two_numbers_with_stretched_axes() {
    if is_skipped() {
        return;
    }
    for function in [
        Binary::Add,
        Binary::Subtract,
        Binary::Multiply,
        Binary::Divide,
    ] {
        for (left, right) in [
            ([3, 4], [3, 4]),
            ([3, 1], [3, 4]),
            ([3, 4], [1, 4]),
            ([1, 4], [3, 1]),
        ] {
            let given = [numbers(&left, 0), numbers(&right, 30)];
            agree(
                &format!("{function:?} of {left:?} and {right:?}"),
                &given,
                |given| binary(function, given[0].clone(), given[1].clone()),
            );
        }
        agree(
            &format!("{function:?} of a number"),
            &[numbers(&[2, 3], 0)],
            |given| scalar(function, given[0].clone(), -1.7),
        );
    }
    let whole = [places(&[1, -2, 3], &[3]), places(&[5, 7, -9], &[3])];
    agree("a sum of whole numbers", &whole, |given| {
        binary(Binary::Add, given[0].clone(), given[1].clone())
    });
}

#[test]
fn powers_of_negative_numbers_too() {
    if is_skipped() {
        return;
    }
    for exponent in [0.0, 1.0, 2.0, 3.0, -1.0, -2.0, -3.0, 5.0] {
        agree(&format!("to {exponent}"), &[numbers(&[5], 0)], |given| {
            power(given[0].clone(), exponent)
        });
    }
    for exponent in [0.5, 1.5, -0.3] {
        let positive = unary(Unary::Absolute, numbers(&[5], 0));
        agree(&format!("to {exponent}"), &[positive], |given| {
            power(given[0].clone(), exponent)
        });
    }
}

#[test]
fn comparisons_and_masks() {
    if is_skipped() {
        return;
    }
    let x = Array::new(vec![-1.0_f32, 0.0, 2.0, 0.5, f32::NAN, 2.0], [2, 3]);
    let y = Array::new(vec![-1.0_f32, 1.0, 0.0, 0.5, 0.0, 3.0], [2, 3]);
    for relation in [
        Comparison::Equal,
        Comparison::Lower,
        Comparison::LowerEqual,
        Comparison::Greater,
        Comparison::GreaterEqual,
    ] {
        let holds = |device| {
            let (x, y) = (moved(&x, device), moved(&y, device));
            let pairs = compare(relation, &x, &y);
            [
                values(&pairs),
                values(&not(&pairs)),
                values(&compare_scalar(relation, &x, 0.5)),
            ]
        };
        assert_eq!(holds(Device::Gpu), holds(Device::Cpu), "{relation:?}");
    }
    let mask = Array::new(vec![true, false, false, true, true, false], [2, 3]);
    let given = [numbers(&[2, 3], 0), mask, numbers(&[2, 3], 9)];
    agree("mask_fill", &given, |given| {
        mask_fill(given[0].clone(), &given[1], -7.0)
    });
    agree("mask_where", &given, |given| {
        mask_where(given[0].clone(), &given[1], &given[2])
    });
}

#[test]
fn sums_and_maxima() {
    if is_skipped() {
        return;
    }
    for size in [[3, 5, 2], [1, 70, 3], [130, 2, 40]] {
        let x = [numbers(&size, 0)];
        agree("sum", &x, |x| sum(&x[0]));
        for axis in 0..3 {
            agree(&format!("sum of axis {axis} of {size:?}"), &x, |x| {
                sum_axis(&x[0], axis)
            });
            agree("maxima", &x, |x| max_axis(&x[0], axis).0);
            agree("places of maxima", &x, |x| max_axis(&x[0], axis).1);
        }
        agree("sum_to", &x, |x| {
            sum_to(x[0].clone(), [1, size[1], 1].into())
        });
    }
    let ties = [Array::new(vec![1.0_f32, 3.0, 3.0, 2.0, 2.0, 0.0], [2, 3])];
    agree("the first of equals", &ties, |x| max_axis(&x[0], 1).1);
}

#[test]
fn layouts() {
    if is_skipped() {
        return;
    }
    let x = [numbers(&[2, 3, 4], 0)];
    agree("expand", &[numbers(&[2, 1, 4], 0)], |x| {
        expand(&x[0], [2, 5, 4].into())
    });
    for (first, second) in [(0, 1), (0, 2), (1, 2)] {
        // A reshape after it shows that the order is that of the numbers, not only of the axes.
        agree("swap_axes", &x, |x| {
            swap_axes(&x[0], first, second).reshaped([24])
        });
    }
    let ranges = [0..2, 1..3, 2..3];
    agree("slice", &x, |x| slice(&x[0], &ranges));
    agree("embed", &[numbers(&[2, 2, 1], 0)], |x| {
        embed(&x[0], [2, 3, 4].into(), &ranges)
    });
    let parts = [
        numbers(&[2, 1], 0),
        numbers(&[2, 3], 5),
        numbers(&[2, 0], 0),
    ];
    agree("concatenate", &parts, |parts| concatenate(parts, 1));
    let mask = [Array::new(vec![true, false, true, true], [2, 2])];
    agree("axes of truth values", &mask, |mask| {
        swap_axes(&mask[0], 0, 1)
    });
    agree("whole numbers", &[places(&[1, 2, 3, 4], &[2, 2])], |x| {
        slice(&x[0], &[0..2, 1..2])
    });
}

#[test]
fn reading_and_adding_at_places() {
    if is_skipped() {
        return;
    }
    let at = places(&[2, 0, 1, 1, 2, 2], &[2, 3]);
    let given = [numbers(&[2, 4], 0), at, numbers(&[2, 3], 20)];
    agree("gather", &given[..2], |given| {
        gather(&given[0], 1, &given[1])
    });
    agree("scatter_add", &given, |given| {
        scatter_add(given[0].clone(), 1, &given[1], &given[2])
    });
    let parts = [
        numbers(&[3, 4, 2], 0),
        places(&[3, 0, 3], &[3]),
        numbers(&[3, 3, 2], 40),
    ];
    agree("select", &parts[..2], |given| {
        select(&given[0], 1, &given[1])
    });
    agree("select_add", &parts, |given| {
        select_add(given[0].clone(), 1, &given[1], &given[2])
    });
}

#[test]
fn matrix_products() {
    if is_skipped() {
        return;
    }
    for [rows, depth, columns] in [[1, 1, 1], [3, 4, 5], [33, 70, 17], [128, 64, 2]] {
        let given = [numbers(&[rows, depth], 0), numbers(&[depth, columns], 7)];
        agree("product", &given, |given| {
            matrix_product((&given[0], Plain), (&given[1], Plain))
        });
        let given = [numbers(&[depth, rows], 0), numbers(&[columns, depth], 7)];
        agree("transposed", &given, |given| {
            matrix_product((&given[0], Transposed), (&given[1], Transposed))
        });
    }
    let many = [numbers(&[3, 2, 4], 0), numbers(&[1, 4, 5], 9)];
    agree("stretched", &many, |given| {
        matrix_product((&given[0], Plain), (&given[1], Plain))
    });
}

#[test]
fn types_and_no_numbers() {
    if is_skipped() {
        return;
    }
    let x = [Array::new(vec![0.0_f32, 1.0, -3.0], [3])];
    for dtype in [DType::I32, DType::Bool, DType::F32] {
        agree("cast", &x, |x| cast(cast(x[0].clone(), dtype), DType::F32));
    }
    for dtype in [DType::F32, DType::I32, DType::Bool] {
        let one = full([2, 2].into(), 1.0, dtype, Device::Gpu);
        assert_eq!(values(&one), [1.0; 4], "{dtype:?}");
    }
    let none = [numbers(&[0, 3], 0)];
    agree("no rows", &none, |x| unary(Unary::Exp, x[0].clone()));
    agree("a sum of none", &none, |x| sum(&x[0]));
    agree("sums of none", &none, |x| sum_axis(&x[0], 0));
    agree("a product of none", &none, |x| {
        matrix_product((&x[0], Plain), (&x[0], Transposed))
    });
    assert!(matches!(
        download(full([1].into(), 2.0, DType::F32, Device::Gpu)).numbers,
        Numbers::F32(_)
    ));
}

#[test]
fn threads_share_the_adapter() {
    if is_skipped() {
        return;
    }
    let x = upload(TensorData::new(vec![1.0_f32, 2.0], [2]), Device::Gpu);
    let sums: Vec<f64> = std::thread::scope(|scope| {
        let work: Vec<_> = (0..4)
            .map(|times| {
                let x = x.clone();
                scope.spawn(move || values(&sum(&scalar(Binary::Multiply, x, f64::from(times))))[0])
            })
            .collect();
        work.into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(sums, [0.0, 3.0, 6.0, 9.0]);
}

#[test]
fn convolutions_and_their_adjoints() {
    use crate::kernel::{ConvShape, conv2d, conv2d_input, conv2d_weight};
    use crate::tensor::Tensor;

    if is_skipped() {
        return;
    }
    let plain = ConvShape::square([2, 5, 4], 3, 3, 1, 1);
    let shapes = [
        plain,
        ConvShape::square([2, 5, 4], 3, 2, 2, 0),
        ConvShape {
            padding: [[2, 0], [0, 1]],
            stride: [2, 1],
            ..plain
        },
        ConvShape {
            dilation: [2, 1],
            ..plain
        },
        ConvShape {
            out_channels: 4,
            groups: 2,
            ..plain
        },
    ];
    for shape in shapes {
        let x = numbers(&[3, shape.in_features()], 0);
        let w = numbers(&[shape.out_channels, shape.fan_in()], 9);
        let g = numbers(&[3, shape.out_features()], 30);
        let of = |array: &Array| Tensor::<2>::constant(array.clone());
        let what = format!("{shape:?}");
        agree(&what, &[x.clone(), w.clone()], |given| {
            conv2d(of(&given[0]), of(&given[1]), shape).array().clone()
        });
        agree(&what, &[g.clone(), w], |given| {
            conv2d_input(of(&given[0]), of(&given[1]), shape)
                .array()
                .clone()
        });
        agree(&what, &[x, g], |given| {
            conv2d_weight(of(&given[0]), of(&given[1]), shape)
                .array()
                .clone()
        });
    }
}
