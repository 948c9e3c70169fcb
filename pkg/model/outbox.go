package model

// A change is an order's first status or its second, plus one: of each at most one happens.
// The outbox holds them by their numbers.
const (
	unseen = 0x80 // added to a change whose transaction is not committed
	gap    = 0xff // a number that was given out for nothing
)

func changeOf(order int, to uint8) uint8 {
	c := uint8(2*order + 1)
	if to == paid || to == cancelled {
		c++
	}
	return c
}

// note adds a change to the outbox.
func (m *machine) note(s *state, change uint8) {
	if m.publishers == 0 {
		return
	}
	for i, c := range s.sql.outbox {
		if c == 0 {
			s.sql.outbox[i] = change
			return
		}
	}
	m.violate("the outbox is full")
}

// strike takes a change out of the outbox. A cursor counts numbers, so for one a gap stays.
func (m *machine) strike(s *state, change uint8) {
	box := &s.sql.outbox
	for i, c := range box {
		if c == change && m.mistake == skippingCursor {
			box[i] = gap
		} else if c == change {
			copy(box[i:], box[i+1:])
			box[len(box)-1] = 0
		}
	}
}

// Where a publisher is.
const (
	sending = iota + 1
	marking
)

// publisher is sqlstore.Publish. The lock on its turn is lost with its session, so a frozen
// one may go on beside another.
type publisher struct {
	pc   uint8
	page [pageMax]uint8
}

func (m *machine) publishSteps(s *state) {
	for k := range m.publishers {
		p := s.publishers[k]
		if p.pc == idle {
			if page := m.page(s); page[0] != 0 {
				m.step(s, deed{"publisher", k, "reads the outbox", nobody}, func(n *state) { n.publishers[k] = publisher{sending, page} })
			}
			continue
		}
		does := [...]string{sending: "adds events", marking: "marks them published"}
		m.step(s, deed{"publisher", k, does[p.pc], nobody}, func(n *state) { m.publishStep(n, k) })
		m.step(s, deed{"publisher", k, "stops", nobody}, func(n *state) { n.publishers[k] = publisher{} })
	}
}

// page is the lowest numbers that are committed and not published.
func (m *machine) page(s *state) (page [pageMax]uint8) {
	n := 0
	for i, c := range s.sql.outbox {
		past := m.mistake == skippingCursor && i < int(s.cursor)
		if c != 0 && c < unseen && !past && n < pageMax {
			page[n] = c
			n++
		}
	}
	return page
}

func (m *machine) publishStep(s *state, k int) {
	p := &s.publishers[k]
	if p.pc == sending {
		for _, c := range p.page {
			m.tell(s, c)
		}
		p.pc = marking
		return
	}
	for _, c := range p.page {
		if c != 0 && m.mistake == skippingCursor {
			m.advance(s, c)
		} else if c != 0 {
			m.strike(s, c)
		}
	}
	*p = publisher{}
}

// tell adds an event. Whoever reads drops those it has seen, so the first time counts.
func (m *machine) tell(s *state, change uint8) {
	if change == 0 {
		return
	}
	if second := change%2 == 0; second && !has(s.told, int(change-2)) {
		m.violate("an order's second change is published before its first")
	}
	s.told |= 1 << (change - 1)
}

func (m *machine) advance(s *state, change uint8) {
	for i, c := range s.sql.outbox {
		if c == change {
			s.cursor = max(s.cursor, uint8(i+1))
		}
	}
}
