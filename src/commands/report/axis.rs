//! The axis of the timeline: from moments to places, in hundredths of the width. Long pauses in
//! which nothing happened take little room, and are marked.

/// A pause is shortened if it is longer than this, and than a tenth of all.
const LONGEST_PAUSE: i64 = 5 * 60_000;
/// The part of the width that a shortened pause takes.
const PAUSE: f64 = 3.0;
/// So many pauses are shortened, the longest ones.
const PAUSES: usize = 12;

/// A stretch of time, and where it is drawn.
#[derive(Debug, PartialEq)]
struct Stretch {
    from: i64,
    to: i64,
    left: f64,
    width: f64,
    is_pause: bool,
}

#[derive(Debug, PartialEq)]
pub struct Axis {
    stretches: Vec<Stretch>,
}

impl Axis {
    /// `moments` are all that is to be shown, in any order.
    pub fn new(mut moments: Vec<i64>) -> Self {
        moments.sort_unstable();
        let (Some(first), Some(last)) = (moments.first().copied(), moments.last().copied()) else {
            return Self { stretches: Vec::new() };
        };
        let least = LONGEST_PAUSE.max((last - first) / 10);
        let gaps = moments.iter().zip(moments.iter().skip(1));
        let mut pauses: Vec<(i64, i64)> =
            gaps.filter(|(from, to)| *to - *from > least).map(|(from, to)| (*from, *to)).collect();
        pauses.sort_by_key(|(from, to)| from - to);
        pauses.truncate(PAUSES);
        pauses.sort_unstable();
        let paused: i64 = pauses.iter().map(|(from, to)| to - from).sum();
        let busy = (last - first - paused).max(1) as f64;
        let room = 100.0 - PAUSE * pauses.len() as f64;
        let mut stretches = Vec::new();
        let (mut at, mut left) = (first, 0.0);
        for (from, to) in pauses.into_iter().map(Some).chain([None]).map(|pause| {
            // Behind the last pause the rest ends where all ends.
            pause.unwrap_or((last, last))
        }) {
            let width = room * (from - at) as f64 / busy;
            stretches.push(Stretch { from: at, to: from, left, width, is_pause: false });
            left += width;
            if to > from {
                stretches.push(Stretch { from, to, left, width: PAUSE, is_pause: true });
                left += PAUSE;
            }
            at = to;
        }
        Self { stretches }
    }

    /// The place of a moment; what is at an end has room there.
    pub fn place(&self, moment: i64) -> f64 {
        inside(self.part(moment))
    }

    /// From 0 to 100.
    fn part(&self, moment: i64) -> f64 {
        let found = self.stretches.iter().find(|stretch| moment <= stretch.to);
        let Some(stretch) = found.or_else(|| self.stretches.last()) else { return 0.0 };
        let length = (stretch.to - stretch.from).max(1) as f64;
        let part = ((moment - stretch.from) as f64 / length).clamp(0.0, 1.0);
        stretch.left + part * stretch.width
    }

    /// Shortened pauses: place, width, milliseconds.
    pub fn pauses(&self) -> impl Iterator<Item = (f64, f64, i64)> {
        let pauses = self.stretches.iter().filter(|stretch| stretch.is_pause);
        pauses.map(|stretch| (inside(stretch.left), stretch.width, stretch.to - stretch.from))
    }

    /// Moments at round times, no nearer to each other than `least` hundredths of the width.
    pub fn ticks(&self, least: f64) -> Vec<i64> {
        const STEPS: [i64; 20] = [
            100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000,
            600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000,
        ];
        let mut ticks: Vec<i64> = Vec::new();
        for stretch in self.stretches.iter().filter(|stretch| !stretch.is_pause) {
            let per_milli = stretch.width / (stretch.to - stretch.from).max(1) as f64;
            let step = STEPS.iter().find(|step| **step as f64 * per_milli >= least);
            let Some(step) = step else { continue };
            let mut tick = stretch.from.div_euclid(*step) * step;
            while tick <= stretch.to {
                let last = ticks.last().map_or(-least, |last| self.place(*last));
                if tick >= stretch.from && self.place(tick) - last >= least {
                    ticks.push(tick);
                }
                tick += step;
            }
        }
        ticks
    }
}

fn inside(part: f64) -> f64 {
    1.5 + part * 0.97
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_in_order_and_a_pause_takes_little_room() {
        let hour = 3_600_000;
        let axis = Axis::new(vec![0, 10_000, 60_000, 9 * hour, 9 * hour + 60_000]);
        let places: Vec<f64> =
            [0, 60_000, 9 * hour, 9 * hour + 60_000].map(|at| axis.part(at)).into();
        assert_eq!(places, [0.0, 48.5, 51.5, 100.0]);
        assert_eq!(axis.pauses().map(|pause| pause.2).collect::<Vec<_>>(), [9 * hour - 60_000]);
        assert_eq!(axis.part(-5), 0.0);
        assert_eq!(axis.part(i64::MAX / 2), 100.0);
        assert_eq!(axis.place(0), 1.5);
    }

    #[test]
    fn nothing_and_one_moment_have_places_too() {
        assert_eq!(Axis::new(Vec::new()).part(7), 0.0);
        assert_eq!(Axis::new(vec![7]).part(7), 0.0);
        assert!(Axis::new(vec![7, 7]).ticks(10.0).len() <= 1);
    }

    #[test]
    fn ticks_are_round_and_not_too_many() {
        let axis = Axis::new(vec![1_500, 100_000]);
        let ticks = axis.ticks(12.0);
        assert_eq!(ticks, [15_000, 30_000, 45_000, 60_000, 75_000, 90_000]);
        assert!(axis.ticks(3.0).len() > ticks.len());
    }
}
