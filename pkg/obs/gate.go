package obs

import "github.com/prometheus/client_golang/prometheus"

// Gate is what an api has in hand, and what it may have. Its numbers are read when somebody
// asks for the metrics: a purchase spends nothing on them.
type Gate struct {
	Waiting, WaitingMax int64 // purchases that wait for Redis
	Queue, QueueMax     int   // of these, the ones that are not sent yet
	Watching            int   // callers who wait for the status of an order
	WatchingMax         int
	Vouchers            int // that are answered from memory
	Winners, WinnersMax int // buyers who are remembered
	Live                bool
	Trips, Sent         uint64 // to Redis, and purchases that went with them, since the start
	ReplicaMisses       uint64 // purchases that too few replicas held in time
}

// NewGate registers the metrics with r; a second time on one registry panics.
func NewGate(r prometheus.Registerer, read func() Gate) {
	gauge := func(name, help string, value func(g Gate) float64) {
		registered(r, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(read()) }))
	}
	counter := func(name, help string, value func(g Gate) uint64) {
		newCounterFunc(r, name, help, func() uint64 { return value(read()) })
	}
	gauge("seckill_admit_in_flight", "Purchases that wait for Redis now.", func(g Gate) float64 { return float64(g.Waiting) })
	gauge("seckill_admit_in_flight_max", "How many purchases may wait for Redis; the next is refused.", func(g Gate) float64 { return float64(g.WaitingMax) })
	gauge("seckill_admit_queue", "Purchases that wait for a trip to Redis; of several partitions, the one where most do.", func(g Gate) float64 { return float64(g.Queue) })
	gauge("seckill_admit_queue_max", "How many purchases of a partition may wait for a trip; the next is refused.", func(g Gate) float64 { return float64(g.QueueMax) })
	counter("seckill_admit_trips_total", "Trips to Redis with purchases.", func(g Gate) uint64 { return g.Trips })
	counter("seckill_admit_sent_total", "Purchases that went to Redis; divided by the trips, how many share one.", func(g Gate) uint64 { return g.Sent })
	counter("seckill_replica_misses_total", "Acceptances that too few replicas held in time; their buyers were told UNAVAILABLE, and find the order when they try again.", func(g Gate) uint64 { return g.ReplicaMisses })
	gauge("seckill_memory_vouchers", "Vouchers that nobody can buy, which are remembered or about to be.", func(g Gate) float64 { return float64(g.Vouchers) })
	gauge("seckill_memory_winners", "Buyers of these who are remembered.", func(g Gate) float64 { return float64(g.Winners) })
	gauge("seckill_memory_winners_max", "How many buyers may be remembered; past that Redis is asked.", func(g Gate) float64 { return float64(g.WinnersMax) })
	gauge("seckill_memory_live", "Whether changes are heard of, so that the memory may answer: 1, or 0.", func(g Gate) float64 { return flag(g.Live) })
	gauge("seckill_watchers", "Callers who wait for the status of an order.", func(g Gate) float64 { return float64(g.Watching) })
	gauge("seckill_watchers_max", "How many callers may wait for the status of an order; the next is refused.", func(g Gate) float64 { return float64(g.WatchingMax) })
}

// NewLocks registers the count of locks that were lost, with r.
func NewLocks(r prometheus.Registerer, lost func() uint64) {
	newCounterFunc(r, "seckill_locks_lost_total", "Batches whose locks were lost before they were done, and which were rolled back.", lost)
}
