package model

// Where a repair is with its user.
const (
	atStream = iota + 1
	atRow
	atLive
	mending
)

// repairer is books.Repair at one user: it reads the ticket, the stream, the ticket's row and
// the user's live row, in this order, and mends what it finds if the ticket is still the same.
type repairer struct {
	pc     uint8
	user   uint8
	ticket uint8
	queued uint8 // 1: the ticket's order has an entry
	row    uint8 // of the ticket's order
	live   uint8 // the user's live order plus one
}

func (m *machine) repairSteps(s *state) {
	p := s.repairer
	if p.pc == idle {
		for u := range m.users {
			m.step(s, deed{"repair", nobody, "reads a ticket", nobody}, func(n *state) { n.repairer.begin(n, u) })
		}
		return
	}
	does := [...]string{atStream: "reads the stream", atRow: "reads the row", atLive: "reads the live order", mending: "mends"}
	m.step(s, deed{"repair", nobody, does[p.pc], nobody}, func(n *state) { m.repairStep(n) })
	m.step(s, deed{"repair", nobody, "stops", nobody}, func(n *state) { n.repairer = repairer{} })
}

func (p *repairer) begin(s *state, user int) {
	*p = repairer{pc: atStream, user: uint8(user), ticket: s.redis.ticket[user]}
	if p.ticket == 0 {
		p.pc = atLive
	}
}

func (m *machine) repairStep(s *state) {
	p := &s.repairer
	order := int(p.ticket) - 1
	switch p.pc {
	case atStream:
		if s.redis.stream[order] != 0 {
			p.queued = 1
		}
		p.pc = atRow
	case atRow:
		p.row, p.pc = s.sql.row[order], atLive
		if dead(p.row) && has(s.sql.due, order) {
			p.row = live0 // the workers are about to
		}
		if p.row == noRow && p.queued == 1 || live(p.row) {
			*p = repairer{}
		}
	case atLive:
		p.live, p.pc = m.liveOf(s, p.user), mending
		if p.live == 0 && (p.ticket == 0 || p.row == live0) || p.row == noRow && p.ticket != 0 && m.mistake == syncDropsTickets {
			*p = repairer{}
		}
	case mending:
		m.mend(s, *p)
		*p = repairer{}
	}
}

// live0 stands for the dead row of an order whose release is due.
const live0 = 100

func (m *machine) mend(s *state, p repairer) {
	switch {
	case p.ticket != 0 && p.row == noRow:
		m.requeue(s, int(p.ticket-1))
	case p.live != 0: // marked under the lock of the live row
		if live(s.sql.row[p.live-1]) || m.mistake == markUnlocked {
			m.mark(s, p.user, p.ticket, p.live)
		}
	default:
		m.release(s, int(p.ticket-1))
	}
}
