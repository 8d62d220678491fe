//! What was measured, as JSON: tests and people who look closely read it.

use looptax_stats::Estimate;
use serde_json::{Value, json};

use super::{Contrast, Measured, SideFigures, SiteMeasured};

/// All figures, with their intervals.
pub(crate) fn json(measured: &Measured) -> Value {
    json!({
        "wordpress": measured.wordpress,
        "php": measured.php,
        "mariadb": measured.mariadb,
        "php_fpm": measured.installed.php_fpm,
        "without_redirect": measured.without_redirect,
        "sites": measured.sites.iter().map(site).collect::<Vec<_>>(),
    })
}

fn site(it: &SiteMeasured) -> Value {
    json!({
        "site": it.site.name(),
        "pages": it.counted.pages,
        "queries": it.counted.queries,
        "all_queries": it.counted.all_queries,
        "server_count": it.counted.server_count,
        "moved": it.counted.moved,
        "epochs": it.raw.len(),
        "loads_per_epoch": it.loads_per_epoch,
        "alpha": it.look.map(|look| look.alpha),
        "sides": it.sides.iter().map(side).collect::<Vec<_>>(),
        "contrasts": it.contrasts.iter().map(contrast).collect::<Vec<_>>(),
        "fifteen": it.fifteen.as_ref().map(|first| json!({
            "queries": first.queries,
            "query_us": first.query_us,
            "query_sd_us": first.query_sd_us,
            "query": estimate(&first.query),
            "page": estimate(&first.page),
        })),
    })
}

fn side(it: &SideFigures) -> Value {
    json!({
        "transport": format!("{:?}", it.transport),
        "query_us": estimate(&it.query_us),
        "query_sd_us": estimate(&it.query_sd_us),
        "page_us": estimate(&it.page_us),
        "client_us": estimate(&it.client_us),
        "share_pct": estimate(&it.share_pct),
    })
}

fn contrast(it: &Contrast) -> Value {
    json!({
        "of": format!("{:?}", it.of),
        "over": format!("{:?}", it.over),
        "query": estimate(&it.query),
        "query_sd": estimate(&it.query_sd),
        "page": estimate(&it.page),
        "client": estimate(&it.client),
    })
}

/// Value and ends; an open end is null.
fn estimate(it: &Estimate) -> Value {
    json!([it.value, it.lo, it.hi])
}
