package model

// What Redis can lose, by the letters of a configuration.
const (
	loseAll     = 'F'
	fallBack    = 'R' // to what it was at some moment before
	loseBuyers  = 'b'
	loseTickets = 't'
	loseBoth    = '2' // buyers and tickets
	loseStock   = 's'
	loseVoucher = 'v'
	loseStream  = 'x'
)

var losses = map[rune]string{
	loseAll: "loses everything", fallBack: "falls back", loseBuyers: "loses the buyers", loseTickets: "loses the tickets",
	loseBoth: "loses buyers and tickets", loseStock: "loses the stock", loseVoucher: "loses the voucher", loseStream: "loses the stream",
}

func (m *machine) lossSteps(s *state) {
	if s.losses == m.losses {
		return
	}
	for _, kind := range m.kinds {
		if kind == fallBack && s.frozen == 0 {
			m.step(s, deed{"Redis", nobody, "is copied, as it is", nobody}, func(n *state) { n.frozen, n.past = 1, n.redis })
			continue
		}
		m.step(s, deed{"Redis", nobody, losses[kind], nobody}, func(n *state) {
			if m.lose(n, kind); n.redis != s.redis {
				n.losses++
				m.missed(n)
			}
		})
	}
}

func (m *machine) lose(s *state, kind rune) {
	r := &s.redis
	switch kind {
	case loseAll:
		*r = redis{stock: noStock}
	case fallBack:
		if s.frozen == 1 {
			*r, s.past, s.frozen = s.past, redis{}, 2
		}
	case loseBuyers:
		r.buyers = 0
	case loseTickets:
		r.ticket = [usersMax]uint8{}
	case loseBoth:
		r.buyers, r.ticket = 0, [usersMax]uint8{}
	case loseStock:
		r.stock = noStock
	case loseVoucher:
		r.sale, r.total, r.version, r.token = absent, 0, 0, 0
	case loseStream:
		r.stream = [ordersMax]uint8{}
	}
}

// missed notes which accepted orders are nowhere any more. What a loss takes away whole, no
// rule can bring back; how much that may be, the durability of Redis decides.
func (m *machine) missed(s *state) {
	waiting := s.redis.waiting()
	for o := range m.buyer {
		if m.queued(s, o) && !has(waiting, o) && !m.hasTicket(s, o) {
			s.vanished |= 1 << o
		}
	}
}
