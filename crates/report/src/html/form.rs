//! The form of the data that the script draws. web/src/data.ts declares the same form for the script.
//!
//! Only types; [`super::data`] fills them.

use serde::Serialize;

/// Everything in a record that the script draws.
#[derive(Debug, Serialize)]
pub(super) struct Drawn {
    pub(super) name: String,
    pub(super) overviews: Vec<Overview>,
    pub(super) sweeps: Vec<SweepDrawn>,
    pub(super) comparisons: Vec<ComparisonDrawn>,
    pub(super) hdr: String,
}

/// The verdicts of a group, and the largest tax that is too small to matter, in percent.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Overview {
    pub(super) delta_pct: f64,
    pub(super) verdicts: Vec<VerdictDrawn>,
}

#[derive(Debug, Serialize)]
pub(super) struct VerdictDrawn {
    pub(super) label: String,
    pub(super) tax: Option<FigureDrawn>,
    pub(super) micros: String,
    pub(super) verdict: String,
    pub(super) tone: &'static str,
}

/// A value, the ends of its interval (`null` if an end is unbounded) and its text.
#[derive(Debug, Serialize)]
pub(super) struct FigureDrawn {
    pub(super) v: f64,
    pub(super) lo: Option<f64>,
    pub(super) hi: Option<f64>,
    pub(super) text: String,
}

/// Series along an axis, which is the number of connections or a rate.
#[derive(Debug, Serialize)]
pub(super) struct SweepDrawn {
    pub(super) axis: &'static str,
    pub(super) arms: Vec<String>,
    pub(super) series: Vec<SeriesDrawn>,
}

/// One figure of all arms, at each place on the axis of a sweep.
#[derive(Debug, Serialize)]
pub(super) struct SeriesDrawn {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) log: bool,
    pub(super) points: Vec<PointDrawn>,
}

/// A point of a series: an arm's figure at a place on the axis.
#[derive(Debug, Serialize)]
pub(super) struct PointDrawn {
    pub(super) x: f64,
    pub(super) arm: String,
    #[serde(flatten)]
    pub(super) figure: FigureDrawn,
}

#[derive(Debug, Serialize)]
pub(super) struct ComparisonDrawn {
    pub(super) place: String,
    pub(super) arms: Vec<String>,
    pub(super) percentiles: Vec<TailDrawn>,
    pub(super) differences: Vec<AddedDrawn>,
    pub(super) bill: Option<BillDrawn>,
    pub(super) epochs: Vec<EpochsDrawn>,
    pub(super) slices: Option<SlicesDrawn>,
    pub(super) whys: Vec<WhyDrawn>,
}

/// How the CPU time of a pair of arms is divided.
#[derive(Debug, Serialize)]
pub(super) struct WhyDrawn {
    pub(super) arms: [String; 2],
    pub(super) layers: Vec<LayerDrawn>,
    pub(super) chains: Option<ChainsDrawn>,
}

/// A layer's time per request on each arm, in µs; `null` if not known.
#[derive(Debug, Serialize)]
pub(super) struct LayerDrawn {
    pub(super) name: String,
    pub(super) us: [Option<FigureDrawn>; 2],
    pub(super) difference: String,
}

/// A tree of call chains: its frames in depth-first order, with an array for each field.
#[derive(Debug, Serialize)]
pub(super) struct ChainsDrawn {
    pub(super) requests: [u64; 2],
    pub(super) names: Vec<String>,
    pub(super) depth: Vec<u32>,
    pub(super) name: Vec<u32>,
    pub(super) ns: [Vec<u64>; 2],
}

#[derive(Debug, Serialize)]
pub(super) struct TailDrawn {
    pub(super) arm: String,
    pub(super) points: Vec<PercentileDrawn>,
}

/// A percentile of the latency, or the difference between two arms at a percentile.
#[derive(Debug, Serialize)]
pub(super) struct PercentileDrawn {
    pub(super) pct: f64,
    #[serde(flatten)]
    pub(super) figure: FigureDrawn,
}

#[derive(Debug, Serialize)]
pub(super) struct AddedDrawn {
    pub(super) arm: String,
    pub(super) baseline: String,
    pub(super) pooled: Vec<PercentileDrawn>,
    pub(super) judged: Vec<PercentileDrawn>,
}

/// The parts of a request's time.
#[derive(Debug, Serialize)]
pub(super) struct BillDrawn {
    pub(super) unit: &'static str,
    pub(super) parts: Vec<BillPart>,
}

#[derive(Debug, Serialize)]
pub(super) struct BillPart {
    pub(super) arm: String,
    pub(super) part: &'static str,
    pub(super) value: f64,
    pub(super) text: String,
}

/// The epochs of a pair of arms, with an array for each field.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EpochsDrawn {
    pub(super) arm: String,
    pub(super) tax: Option<FigureDrawn>,
    pub(super) number: Vec<usize>,
    pub(super) effect_pct: Vec<Option<f64>>,
    pub(super) steal_pct: Vec<Option<f64>>,
    pub(super) foreign_pct: Vec<Option<f64>>,
    pub(super) noisy: Vec<bool>,
}

/// Slices in chronological order, with an array for each field.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SlicesDrawn {
    pub(super) unit: &'static str,
    pub(super) epoch: Vec<usize>,
    pub(super) arm: Vec<u32>,
    pub(super) start_s: Vec<f64>,
    pub(super) rate: Vec<Option<f64>>,
    pub(super) disturbed: Vec<Disturbed>,
}

/// An epoch that is marked as disturbed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Disturbed {
    pub(super) epoch: usize,
    pub(super) from_s: f64,
    pub(super) to_s: f64,
    pub(super) text: String,
    pub(super) steal: bool,
}
