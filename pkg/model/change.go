package model

// Where a change of the total is.
const (
	changeRead = iota + 1 // it has read total and version in SQL
	changeHalf            // a cut has reached one of the stores
)

// changer is books.Change with a lower total, or books.Apply.
type changer struct {
	pc, total, version uint8
	old                uint8 // 1: a sync has raised the epoch since a cut read it
}

func (c *changer) read(q *sql) { *c = changer{pc: changeRead, total: q.total, version: q.version} }

func (m *machine) totalSteps(s *state) {
	if s.raises < m.raises {
		m.step(s, deed{"a change", nobody, "raises the total in SQL", nobody}, func(n *state) {
			n.raises++
			changeVoucher(&n.sql, n.sql.total+1, n.sql.version)
		})
	}
	if m.raises+m.cuts > 0 {
		m.applySteps(s)
	}
	if m.cuts > 0 {
		m.cutSteps(s)
	}
}

// applySteps bring SQL's total to Redis: after a change, or when the worker's look finds two
// versions. Where Redis is ahead or not sound they ask for a sync, which see.
func (m *machine) applySteps(s *state) {
	if s.applier.pc == idle {
		if r := &s.redis; r.version != s.sql.version || r.total != s.sql.total {
			m.step(s, deed{"apply", nobody, "reads SQL", nobody}, func(n *state) { n.applier.read(&n.sql) })
		}
		return
	}
	m.step(s, deed{"apply", nobody, "changes Redis", nobody}, func(n *state) {
		changeSale(&n.redis, n.applier.total, n.applier.version)
		n.applier = changer{}
	})
	m.step(s, deed{"apply", nobody, "stops", nobody}, func(n *state) { n.applier = changer{} })
}

func (m *machine) cutSteps(s *state) {
	first, second := cutRedis, cutSQL
	does := [...]string{changeRead: "cuts the total in Redis", changeHalf: "cuts the total in SQL"}
	if m.mistake == cutAnyEpoch {
		second = cutSQLBlindly
	}
	if m.mistake == cutSQLFirst {
		first, second = second, first
		does[changeRead], does[changeHalf] = does[changeHalf], does[changeRead]
	}
	switch c := s.cutter; c.pc {
	case idle:
		if s.cuts < m.cuts {
			m.step(s, deed{"a change", nobody, "reads the version", nobody}, func(n *state) {
				n.cuts++
				n.cutter.read(&n.sql)
			})
		}
		return
	case changeRead:
		m.step(s, deed{"a change", nobody, does[c.pc], nobody}, func(n *state) { n.cutter.next(first(n, c)) })
	case changeHalf:
		m.step(s, deed{"a change", nobody, does[c.pc], nobody}, func(n *state) {
			second(n, c)
			n.cutter = changer{}
		})
	}
	m.step(s, deed{"a change", nobody, "stops", nobody}, func(n *state) { n.cutter = changer{} })
}

func (c *changer) next(done bool) {
	if c.pc = changeHalf; !done {
		*c = changer{}
	}
}

func cutRedis(s *state, c changer) bool { return cutSale(&s.redis, c.total-1, c.version) }

// cutSQL demands the epoch that was read before the cut in Redis: a sync in between may have
// opened the sale with the old total.
func cutSQL(s *state, c changer) bool { return c.old == 0 && cutSQLBlindly(s, c) }

func cutSQLBlindly(s *state, c changer) bool { return changeVoucher(&s.sql, c.total-1, c.version) }
