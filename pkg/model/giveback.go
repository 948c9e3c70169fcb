package model

// Where a process is that gives the unit of a dead order back.
const (
	looking = iota // at what the user holds besides
	swapping
	freeing
	clearing // the release that was due; the sweep alone does
)

// giver is books.Giver at work on an order, and the sweep of package release around it.
type giver struct {
	pc    uint8
	live  uint8 // the user's live order plus one, when it looked
	order uint8 // of the sweep: which, plus one
}

// giveStep does the next step; true when the unit is back.
func (m *machine) giveStep(s *state, g *giver, order int) (done bool) {
	switch g.pc {
	case looking:
		g.live = m.liveOf(s, m.buyer[order])
		g.pc = freeing
		if g.live != 0 {
			g.pc = swapping
		}
		if m.mistake == releaseByBuyer || m.mistake == releaseAnyOrder {
			g.pc, g.live = freeing, 0
		}
	case swapping: // under the lock of the live row
		if s.writer.locks(int(g.live) - 1) {
			return false
		}
		if !live(s.sql.row[g.live-1]) {
			g.pc, g.live = freeing, 0
			return false
		}
		m.adopt(s, order, g.live)
		g.pc, g.live = looking, 0
		return true
	case freeing:
		m.release(s, order)
		g.pc, g.live = looking, 0
		return true
	}
	return false
}

func (m *machine) releaserSteps(s *state) {
	g := s.releaser
	if g.order == 0 {
		for o := range m.buyer {
			if has(s.sql.due, o) {
				m.step(s, deed{"the sweep", nobody, "finds the release due of", o}, func(n *state) { n.releaser.order = uint8(o + 1) })
			}
		}
		return
	}
	o := int(g.order) - 1
	m.step(s, deed{"the sweep", nobody, giverDoes[g.pc], o}, func(n *state) { m.sweep(n, o) })
	m.step(s, deed{"the sweep", nobody, "stops", nobody}, func(n *state) { n.releaser = giver{} })
}

var giverDoes = [...]string{
	looking: "looks at the live order of the user of", swapping: "has the live order take the ticket of",
	freeing: "releases", clearing: "clears the release due of",
}

func (m *machine) sweep(s *state, order int) {
	g := &s.releaser
	if g.pc == clearing {
		s.sql.due &^= 1 << order
		*g = giver{}
	} else if m.giveStep(s, g, order) {
		g.pc = clearing
	}
}
