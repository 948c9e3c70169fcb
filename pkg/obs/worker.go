package obs

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Stage is a part of handling a batch.
type Stage string

// The stages of a batch, in their order.
const (
	StageLock   Stage = "lock"   // taking the users' locks
	StageStore  Stage = "store"  // the transaction
	StageSettle Stage = "settle" // telling Redis
)

// Alert is something that a person must look at.
type Alert string

// The alerts.
const (
	AlertShort   Alert = "short"    // the database had fewer units than Redis sold
	AlertIDClash Alert = "id_clash" // two orders under one id
	AlertLost    Alert = "lost"     // Redis lost an order that was accepted
)

// newAlerts counts, under one name in both programs, those that a program can raise.
func newAlerts(r prometheus.Registerer, kinds ...Alert) counters[Alert] {
	return newCounters(r, "seckill_alerts_total", "What a person must look at.", "kind", kinds...)
}

var (
	sizeBuckets  = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}
	stageBuckets = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}
)

// busy is why a delivery is tried again whose user's lock is held elsewhere.
const busy seckill.Code = "BUSY"

// lagUnknown is what the lag of a stream is until it is known to be something.
const lagUnknown = -1

// Worker are the metrics of a consumer of the order stream.
type Worker struct {
	Lost      prometheus.Counter // pending entries that are gone from the stream
	Reclaimed prometheus.Counter // entries taken over from a consumer that went silent
	Expired   prometheus.Counter // orders that this worker cancelled because nobody paid them
	Published prometheus.Counter // events that this worker told other systems
	SlotsUsed prometheus.Gauge   // batches in hand now
	SlotsMax  prometheus.Gauge   // how many may be

	outcomes counters[seckill.Outcome]
	buried   counters[seckill.Reason]
	alerts   counters[Alert]
	retries  counters[seckill.Code]
	size     prometheus.Histogram
	stages   map[Stage]prometheus.Observer
	failing  *prometheus.GaugeVec
	drift    *prometheus.GaugeVec

	waiting, pending, lag, oldest prometheus.Gauge
	dead, consumers, orphaned     prometheus.Gauge
	outbox, outboxOldest, events  prometheus.Gauge

	due               prometheus.Gauge
	left, total, open *prometheus.GaugeVec
}

// NewWorker registers the metrics with r; a second time on one registry panics.
func NewWorker(r prometheus.Registerer) *Worker {
	m := &Worker{
		Lost:      newCounter(r, "seckill_lost_total", "Pending entries that are gone from the stream."),
		Reclaimed: newCounter(r, "seckill_reclaimed_total", "Entries taken over from a consumer that went silent."),
		Expired:   newCounter(r, "seckill_expired_total", "Orders cancelled because their time to pay was over."),
		Published: newCounter(r, "seckill_events_published_total", "Changes of orders told to other systems; one may be told twice."),
		SlotsUsed: newGauge(r, "seckill_slots_used", "Batches in hand now."),
		SlotsMax:  newGauge(r, "seckill_slots_max", "How many batches may be in hand at a time."),
		outcomes: newCounters(r, "seckill_outcomes_total", "What became of deliveries.", "outcome",
			seckill.Outcomes()...),
		buried: newCounters(r, "seckill_buried_total", "Messages buried in the dead stream.", "reason",
			seckill.ReasonMalformed, seckill.ReasonWornOut, seckill.ReasonIDClash),
		alerts: newAlerts(r, AlertShort, AlertIDClash, AlertLost),
		retries: newCounters(r, "seckill_retries_total", "Deliveries that were tried and have to be tried again, by why; BUSY: the user's lock is held.", "code",
			busy, seckill.Unavailable, seckill.NotReady, seckill.Internal),
		size:    newHistogram(r, "seckill_batch_size", "Deliveries handled in one transaction.", sizeBuckets),
		stages:  make(map[Stage]prometheus.Observer),
		failing: newGauges(r, "seckill_failing", "Streams of which this fails now, and is tried ever more seldom until it works.", "what"),
		drift: newGauges(r, "seckill_books_drift", "Differences between Redis and SQL of a voucher on sale when this worker looked last, by whether it mended them; orders under way are none.",
			"voucher", "verdict"),
		waiting:   newGauge(r, "seckill_stream_waiting", "Entries in the order stream: accepted, and not yet settled."),
		pending:   newGauge(r, "seckill_stream_pending", "Entries read by a worker, and not yet settled."),
		lag:       newGauge(r, "seckill_stream_lag", "Entries no worker has read; -1: Redis cannot tell, as after an entry was settled before an older one. Waiting less pending comes close."),
		dead:      newGauge(r, "seckill_dead", "Buried messages that nobody has replayed or dropped."),
		consumers: newGauge(r, "seckill_consumers", "Workers of the order stream that have spoken lately; of several partitions, the one where fewest have."),
		orphaned:  newGauge(r, "seckill_stream_orphaned", "Entries read by a worker that has been silent for longer than others wait before they take over."),
		oldest:    newGauge(r, "seckill_oldest_waiting_seconds", "Age of the oldest entry in the order stream; 0: it is empty."),

		outbox:       newGauge(r, "seckill_outbox_waiting", "Transactions whose changes are not published yet."),
		outboxOldest: newGauge(r, "seckill_outbox_oldest_seconds", "Age of the oldest change that is not published yet; 0: there is none."),
		events:       newGauge(r, "seckill_events_kept", "Events that Redis keeps, because some group has not read and acknowledged them."),

		due:   newGauge(r, "seckill_release_due", "Dead orders whose unit is not back on sale yet."),
		left:  newGauges(r, "seckill_sale_left", "Units left in Redis of a voucher on sale; of the twenty that began last.", "voucher"),
		total: newGauges(r, "seckill_sale_total", "Units that a voucher on sale has in all.", "voucher"),
		open:  newGauges(r, "seckill_sale_open", "Whether Redis sells a voucher that is on sale: 1, or 0, as during a sync.", "voucher"),
	}
	m.lag.Set(lagUnknown)
	stages := newHistograms(r, "seckill_batch_stage_seconds", "How long the stages of a batch took.", stageBuckets, "stage")
	for _, s := range []Stage{StageLock, StageStore, StageSettle} {
		m.stages[s] = stages.WithLabelValues(string(s))
	}
	return m
}

// Outcome counts what became of one delivery.
func (m *Worker) Outcome(o seckill.Outcome) { m.outcomes.inc(o) }

// Buried counts one buried message.
func (m *Worker) Buried(r seckill.Reason) { m.buried.inc(r) }

// Alert counts something that a person must look at.
func (m *Worker) Alert(a Alert) { m.alerts.inc(a) }

// Batch counts one batch of n deliveries.
func (m *Worker) Batch(n int) { m.size.Observe(float64(n)) }

// Stage tells how long one of the three stages of a batch took.
func (m *Worker) Stage(s Stage, took time.Duration) { observe(m.stages[s], took) }

// Failing is how many streams fail at what now, a verb such as "read".
func (m *Worker) Failing(what string) prometheus.Gauge { return m.failing.WithLabelValues(what) }

// Retried counts one delivery that has to be tried again; "" says that its user's lock is
// held, so that seckill.CodeOf(err) can be passed as it is.
func (m *Worker) Retried(code seckill.Code) {
	if code == "" {
		code = busy
	}
	m.retries.inc(code)
}

// Drift tells how many differences a look at a voucher on sale mended, and how many it left.
func (m *Worker) Drift(v seckill.VoucherID, mended, left int) {
	m.drift.WithLabelValues(v.String(), "mended").Set(float64(mended))
	m.drift.WithLabelValues(v.String(), "left").Set(float64(left))
}

// NoDrift forgets the numbers of a voucher that is not on sale.
func (m *Worker) NoDrift(v seckill.VoucherID) {
	m.drift.DeletePartialMatch(prometheus.Labels{"voucher": v.String()})
}

// Stream is the state of the order stream, all its partitions together.
type Stream struct {
	Waiting int64         // entries in it
	Pending int64         // read, and not yet settled
	Lag     int64         // not yet read; -1: unknown
	Oldest  time.Duration // age of its oldest entry; 0: it is empty

	Dead      int64 // buried messages
	Consumers int   // workers that have spoken lately, where there are fewest
	Orphaned  int64 // entries in the hands of those that have not
}

// Stream tells the state of the order stream as it was seen last.
func (m *Worker) Stream(s Stream) {
	m.waiting.Set(float64(s.Waiting))
	m.pending.Set(float64(s.Pending))
	m.lag.Set(float64(max(s.Lag, lagUnknown)))
	m.oldest.Set(s.Oldest.Seconds())
	m.dead.Set(float64(s.Dead))
	m.consumers.Set(float64(s.Consumers))
	m.orphaned.Set(float64(s.Orphaned))
}

// Sale is one voucher on sale.
type Sale struct {
	Voucher     seckill.VoucherID
	Left, Total int64
	Open        bool // Redis sells it
}

// Sales tells the vouchers on sale; of those that are not among them nothing is told any
// more. Their number is up to the caller: each makes three series.
func (m *Worker) Sales(on []Sale) {
	m.left.Reset()
	m.total.Reset()
	m.open.Reset()
	for _, s := range on {
		v := s.Voucher.String()
		m.left.WithLabelValues(v).Set(float64(s.Left))
		m.total.WithLabelValues(v).Set(float64(s.Total))
		m.open.WithLabelValues(v).Set(flag(s.Open))
	}
}

// ReleasesDue tells how many dead orders wait for their unit to go back on sale.
func (m *Worker) ReleasesDue(n int64) { m.due.Set(float64(n)) }

// Outbox tells what waits to be published, and how many events Redis keeps.
func (m *Worker) Outbox(b seckill.Backlog, events int64) {
	m.outbox.Set(float64(b.Waiting))
	m.outboxOldest.Set(b.Oldest.Seconds())
	m.events.Set(float64(events))
}
