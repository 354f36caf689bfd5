//! Convolution with three by three kernels of stride one by Winograd's minimal filtering, F(4x4, 3x3): 36 products where
//! the direct way has 144.
//!
//! A four by four tile of the output is `A' [(G w G') * (B' d B)] A`, summed over channels, where `d` is the six by six
//! tile of the input it depends on, `*` goes element by element and `'` is the transpose. So the sum over channels is, for
//! each of the 36 frequencies, a product of matrices: transformed weights by transformed tiles.
//!
//! The matrices evaluate polynomials at 0, the four points below and infinity. These points, and not the usual 1 and 2,
//! cost nothing more and lose a third of the digits: about 1e-6 of the largest output against 3e-6.
//!
//! Lanes are channels throughout. Blocks of sixteen are laid out as `[frequency][block][tile][lane]`.

#![expect(unsafe_code, reason = "vector products over packed operands")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use rayon::prelude::*;

use super::buffer::{Scratch, Shared, filled};
use super::conv_shape::ConvShape;
use super::simd::{Number, Task, Vector};
use super::tile::{Target, Walk, columns, product};

/// Frequencies: six by six.
pub(crate) const FREQUENCIES: usize = 36;

/// Lanes of a block.
pub(crate) const LANES: usize = 16;

/// Side of an output tile, and of the input tile it needs.
pub(crate) const OUT: usize = 4;
pub(crate) const IN: usize = 6;

/// The points of evaluation: 0, A, -A, B, -B and infinity.
pub(crate) const A: f32 = 0.75;
pub(crate) const B: f32 = 1.5;

/// The squares, their sum and product, and what `G`'s rows are divided by.
pub(crate) const A2: f32 = A * A;
pub(crate) const B2: f32 = B * B;
const SUM: f32 = A2 + B2;
const PRODUCT: f32 = A2 * B2;
pub(crate) const SCALE_0: f32 = 1.0 / PRODUCT;
pub(crate) const SCALE_A: f32 = 1.0 / (2.0 * A2 * (A2 - B2));
pub(crate) const SCALE_B: f32 = 1.0 / (2.0 * B2 * (B2 - A2));

/// About how many bytes of transformed tiles one job keeps in its cache.
const JOB_BYTES: usize = 1 << 20;

/// Whether the tiles save enough multiplications to pay for the transforms.
pub(crate) fn pays(shape: &ConvShape) -> bool {
    let fits = |height: usize, width: usize| {
        // Four multiplications become one in a full tile; half of that saving must be left.
        2 * OUT * height.div_ceil(OUT) * width.div_ceil(OUT) <= height * width
    };
    shape.kernel == 3
        && shape.stride == 1
        && shape.in_channels >= LANES
        && shape.out_channels >= LANES
        && fits(shape.out_height(), shape.out_width())
        && fits(shape.in_height, shape.in_width)
}

/// Images of blocks of channels and the tiles that cover their convolution.
#[derive(Clone, Copy)]
pub(crate) struct Tiling {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
    /// Rows and columns of zeros before the image.
    pub before: usize,
    pub out_height: usize,
    pub out_width: usize,
}

impl Tiling {
    pub(crate) fn of_input(shape: &ConvShape) -> Self {
        Self {
            channels: shape.in_channels,
            height: shape.in_height,
            width: shape.in_width,
            before: shape.padding,
            out_height: shape.out_height(),
            out_width: shape.out_width(),
        }
    }

    /// The output's gradient, whose convolution with the flipped weights is the input's gradient.
    fn of_output(shape: &ConvShape) -> Self {
        Self {
            channels: shape.out_channels,
            height: shape.out_height(),
            width: shape.out_width(),
            before: 2 - shape.padding,
            out_height: shape.in_height,
            out_width: shape.in_width,
        }
    }

    pub(crate) fn features(&self) -> usize {
        self.channels * self.height * self.width
    }

    pub(crate) fn blocks(&self) -> usize {
        self.channels.div_ceil(LANES)
    }

    pub(crate) fn down(&self) -> usize {
        self.out_height.div_ceil(OUT)
    }

    pub(crate) fn across(&self) -> usize {
        self.out_width.div_ceil(OUT)
    }

    pub(crate) fn tiles(&self) -> usize {
        self.down() * self.across()
    }

    fn padded_width(&self) -> usize {
        OUT * self.across() + IN - OUT
    }

    /// Numbers of one block of a padded image.
    pub(crate) fn padded(&self) -> usize {
        (OUT * self.down() + IN - OUT) * self.padded_width() * LANES
    }

    /// Where in a padded block each pixel of the image goes.
    pub(crate) fn places(&self) -> Vec<usize> {
        (0..self.height * self.width)
            .map(|pixel| {
                let (y, x) = (pixel / self.width, pixel % self.width);
                ((y + self.before) * self.padded_width() + x + self.before) * LANES
            })
            .collect()
    }

    /// Transforms the tiles of block `block` of `image`, whose zeros around the image `padded` already has, and stores tile
    /// `t`, frequency `f`, at `to + f * frequency + t * LANES`.
    ///
    /// # Safety
    /// `to` must be valid for all of them.
    #[inline(always)]
    pub(crate) unsafe fn transform<V: Vector<Number = f32>>(
        &self,
        image: &[f32],
        block: usize,
        places: &[usize],
        padded: &mut [f32],
        to: *mut f32,
        frequency: usize,
    ) {
        let pixels = self.height * self.width;
        lay::<V>(
            &image[block * LANES * pixels..],
            self.channels - block * LANES,
            places,
            padded,
        );
        let pitch = self.padded_width();
        let mut tile = 0;
        for y in 0..self.down() {
            for x in 0..self.across() {
                // SAFETY: six by six registers from here lie within the padded block, and the caller vouches for `to`.
                unsafe {
                    let corner = padded.as_ptr().add((y * pitch + x) * OUT * LANES);
                    let mut d = [[V::splat(0.0); IN]; IN];
                    for (i, row) in d.iter_mut().enumerate() {
                        for (j, number) in row.iter_mut().enumerate() {
                            *number = V::load(corner.add((i * pitch + j) * LANES));
                        }
                    }
                    store_square(
                        &square::<InputPoints, _, 6, 6>(&d),
                        to.add(tile * LANES),
                        frequency,
                    );
                }
                tile += 1;
            }
        }
    }
}

/// Spreads up to sixteen channels of an image, or the `channels` there are, into lanes: pixel `p` at `places[p]`.
#[inline(always)]
pub(crate) fn lay<V: Vector<Number = f32>>(
    image: &[f32],
    channels: usize,
    places: &[usize],
    laid: &mut [f32],
) {
    let pixels = places.len();
    let mut planes = [0; LANES];
    for (channel, plane) in planes.iter_mut().enumerate() {
        *plane = channel * pixels;
    }
    let whole = if channels >= LANES {
        pixels / LANES * LANES
    } else {
        0
    };
    for pixel in (0..whole).step_by(LANES) {
        let places = &places[pixel..pixel + LANES];
        assert!(places.iter().all(|place| place + LANES <= laid.len()));
        assert!(planes[LANES - 1] + pixel + LANES <= image.len());
        // SAFETY: the rows read and written have just been checked.
        unsafe {
            V::transpose(
                image.as_ptr().add(pixel),
                &planes,
                laid.as_mut_ptr(),
                places,
            )
        };
    }
    for pixel in whole..pixels {
        let lanes = &mut laid[places[pixel]..places[pixel] + LANES];
        lanes.fill(0.0);
        for (channel, lane) in lanes.iter_mut().enumerate().take(channels) {
            *lane = image[channel * pixels + pixel];
        }
    }
}

/// A matrix applied to a column. A trait and no closure, so that it is compiled for its caller's instruction set.
pub(crate) trait Matrix<const FROM: usize, const TO: usize> {
    fn apply<V: Vector<Number = f32>>(column: [V; FROM]) -> [V; TO];
}

/// `M s M'`: the matrix applied to the columns, then to the rows.
#[inline(always)]
pub(crate) fn square<M, V, const FROM: usize, const TO: usize>(
    s: &[[V; FROM]; FROM],
) -> [[V; TO]; TO]
where
    M: Matrix<FROM, TO>,
    V: Vector<Number = f32>,
{
    let mut half = [[V::splat(0.0); FROM]; TO];
    for j in 0..FROM {
        let mut column = [V::splat(0.0); FROM];
        for i in 0..FROM {
            column[i] = s[i][j];
        }
        let mapped = M::apply(column);
        for i in 0..TO {
            half[i][j] = mapped[i];
        }
    }
    let mut whole = [[V::splat(0.0); TO]; TO];
    for i in 0..TO {
        whole[i] = M::apply(half[i]);
    }
    whole
}

/// Stores the frequencies of one tile.
///
/// # Safety
/// `to + f * frequency` must be valid for every frequency `f`.
#[inline(always)]
pub(crate) unsafe fn store_square<V: Vector<Number = f32>>(
    square: &[[V; IN]; IN],
    to: *mut f32,
    frequency: usize,
) {
    for (i, row) in square.iter().enumerate() {
        for (j, number) in row.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { number.store(to.add((i * IN + j) * frequency)) };
        }
    }
}

/// Loads the frequencies of one tile.
///
/// # Safety
/// `from + f * frequency` must be valid for every frequency `f`.
#[inline(always)]
pub(crate) unsafe fn load_square<V: Vector<Number = f32>>(
    from: *const f32,
    frequency: usize,
) -> [[V; IN]; IN] {
    let mut square = [[V::splat(0.0); IN]; IN];
    for (i, row) in square.iter_mut().enumerate() {
        for (j, number) in row.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *number = unsafe { V::load(from.add((i * IN + j) * frequency)) };
        }
    }
    square
}

/// `B'`: a column of an input tile at the six points.
struct InputPoints;

impl Matrix<6, 6> for InputPoints {
    #[inline(always)]
    fn apply<V: Vector<Number = f32>>(d: [V; 6]) -> [V; 6] {
        let (a, b) = (V::splat(A), V::splat(B));
        let (minus_a, minus_b) = (V::splat(-A), V::splat(-B));
        let (minus_a2, minus_b2) = (V::splat(-A2), V::splat(-B2));
        let (minus_sum, product) = (V::splat(-SUM), V::splat(PRODUCT));
        let (even_a, odd_a) = (d[2].mul_add(minus_b2, d[4]), d[1].mul_add(minus_b2, d[3]));
        let (even_b, odd_b) = (d[2].mul_add(minus_a2, d[4]), d[1].mul_add(minus_a2, d[3]));
        [
            d[0].mul_add(product, d[2].mul_add(minus_sum, d[4])),
            odd_a.mul_add(a, even_a),
            odd_a.mul_add(minus_a, even_a),
            odd_b.mul_add(b, even_b),
            odd_b.mul_add(minus_b, even_b),
            d[1].mul_add(product, d[3].mul_add(minus_sum, d[5])),
        ]
    }
}

/// `G`: a column of weights at the six points.
struct WeightPoints;

impl Matrix<3, 6> for WeightPoints {
    #[inline(always)]
    fn apply<V: Vector<Number = f32>>(w: [V; 3]) -> [V; 6] {
        let even_a = w[0]
            .mul(V::splat(SCALE_A))
            .add(w[2].mul(V::splat(A2 * SCALE_A)));
        let even_b = w[0]
            .mul(V::splat(SCALE_B))
            .add(w[2].mul(V::splat(B2 * SCALE_B)));
        let odd_a = w[1].mul(V::splat(A * SCALE_A));
        let odd_b = w[1].mul(V::splat(B * SCALE_B));
        [
            w[0].mul(V::splat(SCALE_0)),
            even_a.add(odd_a),
            even_a.sub(odd_a),
            even_b.add(odd_b),
            even_b.sub(odd_b),
            w[2],
        ]
    }
}

/// `A'`: a column of an output tile from its values at the six points.
struct OutputPoints;

impl Matrix<6, 4> for OutputPoints {
    #[inline(always)]
    fn apply<V: Vector<Number = f32>>(m: [V; 6]) -> [V; 4] {
        let (sum_a, difference_a) = (m[1].add(m[2]), m[1].sub(m[2]));
        let (sum_b, difference_b) = (m[3].add(m[4]), m[3].sub(m[4]));
        [
            m[0].add(sum_a).add(sum_b),
            difference_a.mul_add(V::splat(A), difference_b.mul(V::splat(B))),
            sum_a.mul_add(V::splat(A2), sum_b.mul(V::splat(B2))),
            difference_a.mul_add(
                V::splat(A * A2),
                difference_b.mul_add(V::splat(B * B2), m[5]),
            ),
        ]
    }
}

/// How the weights of one output lie: those of lane `l` and step `s` begin at `l * lane + s * step`, nine of them.
#[derive(Clone, Copy)]
struct Weights<'a> {
    numbers: &'a [f32],
    outputs: usize,
    depth: usize,
    lane: usize,
    step: usize,
    flipped: bool,
}

/// The convolution of `rows` images `x` with `w`.
pub(crate) fn forward(x: &[f32], w: &[f32], rows: usize, shape: &ConvShape) -> Vec<f32> {
    let weights = Weights {
        numbers: w,
        outputs: shape.out_channels,
        depth: shape.in_channels,
        lane: shape.fan_in(),
        step: 9,
        flipped: false,
    };
    convolve(x, rows, Tiling::of_input(shape), weights)
}

/// The gradient of `<forward(x, w), g>` with respect to `x`.
pub(crate) fn input(g: &[f32], w: &[f32], rows: usize, shape: &ConvShape) -> Vec<f32> {
    let weights = Weights {
        numbers: w,
        outputs: shape.in_channels,
        depth: shape.out_channels,
        lane: 9,
        step: shape.fan_in(),
        flipped: true,
    };
    convolve(g, rows, Tiling::of_output(shape), weights)
}

fn convolve(images: &[f32], rows: usize, tiling: Tiling, weights: Weights) -> Vec<f32> {
    let out_blocks = weights.outputs.div_ceil(LANES);
    let depth = tiling.blocks() * LANES;
    // One line more than a power of two apart, so that frequencies do not compete for the same lines of the cache.
    let weight_frequency = out_blocks * depth * LANES + LANES;
    let mut transformed = Scratch::new(FREQUENCIES * weight_frequency);
    let to = Shared(transformed.numbers().as_mut_ptr());
    (0..out_blocks).into_par_iter().for_each(|block| {
        f32::vectorised(TransformWeights {
            weights,
            depth,
            block,
            to,
            frequency: weight_frequency,
        });
    });
    let transformed = &*transformed.numbers();

    let job_rows = job_rows(rows, &tiling, weights.outputs);
    let out_pixels = tiling.out_height * tiling.out_width;
    let places = tiling.places();
    // SAFETY: the jobs write every output of every row once.
    unsafe {
        filled(rows * weights.outputs * out_pixels, |out| {
            images
                .par_chunks(job_rows * tiling.features())
                .enumerate()
                .for_each(|(job, images)| {
                    let out = Shared(out.at(job * job_rows * weights.outputs * out_pixels));
                    f32::vectorised(Convolve {
                        images,
                        tiling,
                        places: &places,
                        weights: transformed,
                        weight_frequency,
                        outputs: weights.outputs,
                        out,
                    });
                });
        })
    }
}

/// How many rows one job takes: as many as its cache holds, but no fewer than make reading the weights worth while, and an
/// even share for every thread. Bits do not depend on it.
fn job_rows(rows: usize, tiling: &Tiling, outputs: usize) -> usize {
    let per_tile = FREQUENCIES * (tiling.channels + outputs) * size_of::<f32>();
    let weights = FREQUENCIES * tiling.channels * outputs * size_of::<f32>();
    let tiles = (JOB_BYTES.max(weights) / per_tile).max(1);
    let threads = rayon::current_num_threads();
    let jobs = (rows * tiling.tiles())
        .div_ceil(tiles)
        .next_multiple_of(threads);
    rows.div_ceil(jobs).max(1)
}

struct TransformWeights<'a> {
    weights: Weights<'a>,
    depth: usize,
    block: usize,
    to: Shared<f32>,
    frequency: usize,
}

impl Task<f32> for TransformWeights<'_> {
    #[inline(always)]
    fn run<V: Vector<Number = f32>>(self) {
        let Self {
            weights,
            depth,
            block,
            to,
            frequency,
        } = self;
        let mut lanes = [0; LANES];
        let mut rows = [0; LANES];
        for lane in 0..LANES {
            lanes[lane] = lane * weights.lane;
            rows[lane] = lane * LANES;
        }
        let first = block * LANES * weights.lane;
        let whole = (block + 1) * LANES <= weights.outputs;
        let mut taps = [0.0; LANES * LANES];
        for step in 0..depth {
            let start = first + step * weights.step;
            // Sixteen numbers are read of each lane's nine.
            if whole
                && step < weights.depth
                && start + lanes[LANES - 1] + LANES <= weights.numbers.len()
            {
                // SAFETY: the last of the rows has just been checked, and the square holds sixteen rows.
                unsafe {
                    V::transpose(
                        weights.numbers.as_ptr().add(start),
                        &lanes,
                        taps.as_mut_ptr(),
                        &rows,
                    );
                }
            } else {
                taps.fill(0.0);
                let present = if step < weights.depth {
                    LANES.min(weights.outputs - block * LANES)
                } else {
                    0
                };
                for lane in 0..present {
                    for tap in 0..9 {
                        taps[tap * LANES + lane] = weights.numbers[start + lanes[lane] + tap];
                    }
                }
            }
            let mut w = [[V::splat(0.0); 3]; 3];
            for i in 0..3 {
                for j in 0..3 {
                    let tap = if weights.flipped {
                        8 - (3 * i + j)
                    } else {
                        3 * i + j
                    };
                    // SAFETY: one of the first nine of sixteen rows.
                    w[i][j] = unsafe { V::load(taps.as_ptr().add(tap * LANES)) };
                }
            }
            // SAFETY: the step lies within this block of each frequency.
            unsafe {
                store_square(
                    &square::<WeightPoints, _, 3, 6>(&w),
                    to.at((block * depth + step) * LANES),
                    frequency,
                );
            }
        }
    }
}

struct Convolve<'a> {
    images: &'a [f32],
    tiling: Tiling,
    places: &'a [usize],
    weights: &'a [f32],
    weight_frequency: usize,
    outputs: usize,
    out: Shared<f32>,
}

impl Task<f32> for Convolve<'_> {
    #[inline(always)]
    fn run<V: Vector<Number = f32>>(self) {
        let Self {
            images,
            tiling,
            outputs,
            ..
        } = self;
        let rows = images.len() / tiling.features();
        // The last columns of a product may overhang by three tiles.
        let tiles = (rows * tiling.tiles()).next_multiple_of(4);
        let (blocks, out_blocks) = (tiling.blocks(), outputs.div_ceil(LANES));
        let frequency = blocks * tiles * LANES + LANES;
        let out_frequency = out_blocks * tiles * LANES + LANES;
        let result = tiling.tiles() * OUT * OUT * LANES;
        let mut scratch =
            Scratch::new(FREQUENCIES * (frequency + out_frequency) + tiling.padded().max(result));
        let (transformed, rest) = scratch.numbers().split_at_mut(FREQUENCIES * frequency);
        let (products, padded) = rest.split_at_mut(FREQUENCIES * out_frequency);

        padded.fill(0.0);
        for (row, image) in images.chunks_exact(tiling.features()).enumerate() {
            for block in 0..blocks {
                let to = transformed[(block * tiles + row * tiling.tiles()) * LANES..].as_mut_ptr();
                let padded = &mut padded[..tiling.padded()];
                // SAFETY: the row's tiles lie within its block of each frequency.
                unsafe {
                    tiling.transform::<V>(image, block, self.places, padded, to, frequency);
                }
            }
        }

        let walk = Walk {
            blocks,
            inner: LANES,
            wide_register: blocks * LANES * LANES,
            wide_step: LANES,
            narrow_step: 1,
            narrow_block: tiles * LANES,
        };
        for f in 0..FREQUENCIES {
            let mut block = 0;
            while block < out_blocks {
                let registers = V::TILE.0.min(out_blocks - block);
                let mut tile = 0;
                while tile < tiles {
                    let count = columns::<V>(tiles - tile);
                    let wide = self.weights
                        [f * self.weight_frequency + block * walk.wide_register..]
                        .as_ptr();
                    let narrow = transformed[f * frequency + tile * LANES..].as_ptr();
                    let target = Target {
                        to: products[f * out_frequency + (block * tiles + tile) * LANES..]
                            .as_mut_ptr(),
                        register: tiles * LANES,
                        column: LANES,
                    };
                    // SAFETY: tiles are a multiple of four, so no column overhangs; blocks are whole.
                    unsafe {
                        product::<V, LANES>(registers, count, &walk, wide, narrow, target, false);
                    }
                    tile += count;
                }
                block += registers;
            }
        }

        for row in 0..rows {
            for block in 0..out_blocks {
                let from = products[(block * tiles + row * tiling.tiles()) * LANES..].as_ptr();
                let out_pixels = tiling.out_height * tiling.out_width;
                let out = self.out.at((row * outputs + block * LANES) * out_pixels);
                // SAFETY: the row's tiles lie within its block of each frequency, and the row's outputs within the result.
                unsafe {
                    untile::<V>(
                        &tiling,
                        from,
                        out_frequency,
                        outputs - block * LANES,
                        padded,
                        out,
                    );
                }
            }
        }
    }
}

/// Transforms one block of one image back into pixels and writes its channels.
///
/// # Safety
/// `from` must hold the image's tiles at each frequency, and `out` must be valid for `channels` planes, at most sixteen.
#[inline(always)]
unsafe fn untile<V: Vector<Number = f32>>(
    tiling: &Tiling,
    from: *const f32,
    frequency: usize,
    channels: usize,
    laid: &mut [f32],
    out: *mut f32,
) {
    let pitch = OUT * tiling.across();
    for y in 0..tiling.down() {
        for x in 0..tiling.across() {
            // SAFETY: the caller vouches for the tiles; sixteen pixels of a tile lie within the laid image.
            unsafe {
                let m = load_square::<V>(from.add((y * tiling.across() + x) * LANES), frequency);
                let tile = square::<OutputPoints, _, 6, 4>(&m);
                let corner = laid.as_mut_ptr().add((y * pitch + x) * OUT * LANES);
                for (i, row) in tile.iter().enumerate() {
                    for (j, pixel) in row.iter().enumerate() {
                        pixel.store(corner.add((i * pitch + j) * LANES));
                    }
                }
            }
        }
    }
    let (width, pixels) = (tiling.out_width, tiling.out_height * tiling.out_width);
    let mut planes = [0; LANES];
    for (channel, plane) in planes.iter_mut().enumerate() {
        *plane = channel * pixels;
    }
    let whole = if channels >= LANES {
        pixels / LANES * LANES
    } else {
        0
    };
    let (mut x, mut line) = (0, 0);
    let mut places = [0; LANES];
    for pixel in (0..whole).step_by(LANES) {
        for place in &mut places {
            *place = (line + x) * LANES;
            x += 1;
            if x == width {
                (x, line) = (0, line + pitch);
            }
        }
        // SAFETY: the places are pixels of the laid image, and the planes are the caller's promise.
        unsafe { V::transpose(laid.as_ptr(), &places, out.add(pixel), &planes) };
    }
    for pixel in whole..pixels {
        let place = (pixel / width * pitch + pixel % width) * LANES;
        for (channel, &value) in laid[place..place + LANES].iter().enumerate().take(channels) {
            // SAFETY: a pixel of a plane of the caller's.
            unsafe { *out.add(channel * pixels + pixel) = value };
        }
    }
}
