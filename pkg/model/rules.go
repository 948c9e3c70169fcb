package model

// always checks what holds in every state; "" if all does.
func (m *machine) always(s *state) string {
	rows := m.liveRows(s)
	switch {
	case rows > s.sql.total:
		return "oversold: more live rows than units"
	case s.sql.stock+rows != s.sql.total:
		return "SQL: stock + live rows is not the total"
	case m.twoLive(s):
		return "a user has two live rows"
	case s.redis.sells() && s.redis.stock+size(s.redis.buyers) > max(s.redis.total, size(s.redis.buyers)):
		return "Redis offers more than its total"
	}
	for o, row := range s.sql.row {
		if has(s.buried, o) && live(row) {
			return "a buried order is live"
		}
	}
	if m.strict() {
		return m.undisturbed(s)
	}
	return ""
}

func (m *machine) twoLive(s *state) bool {
	var seen [usersMax]bool
	for o, u := range m.buyer {
		if live(s.sql.row[o]) {
			if seen[u] {
				return true
			}
			seen[u] = true
		}
	}
	return false
}

// undisturbed checks what holds as long as Redis loses nothing and nobody changes the voucher.
func (m *machine) undisturbed(s *state) string {
	r := &s.redis
	switch {
	case !r.sells():
		return "the books of Redis do not balance"
	case r.stock > s.sql.stock:
		return "Redis offers more than SQL has"
	}
	waiting := r.waiting()
	for o := range m.buyer {
		row, ticket := s.sql.row[o], m.hasTicket(s, o)
		switch {
		case live(row) && !ticket:
			return "a live row is without its ticket"
		case dead(row) && ticket && !has(waiting, o) && !has(s.sql.due, o):
			return "a dead order holds a unit that nobody will free"
		case m.queued(s, o) && (!ticket || !has(waiting, o)):
			return "a queued order is without its ticket or entry"
		}
	}
	return ""
}
