package model

// The scripts of folder lua, under their names. Each is one step.

// What the script that sells can answer.
const (
	accepted = iota
	ordered
	soldOut
	notLoaded
)

func (m *machine) admit(s *state, order int) int {
	r, u := &s.redis, m.buyer[order]
	if r.sale != open {
		return notLoaded
	}
	if has(r.buyers, int(u)) {
		if r.ticket[u] == 0 {
			return notLoaded
		}
		return ordered
	}
	if !r.balanced() {
		return notLoaded
	}
	if r.stock == 0 {
		return soldOut
	}
	m.add(s, order)
	r.buyers |= 1 << u
	r.ticket[u] = uint8(order + 1)
	r.stock--
	s.admitted[order]++
	s.vanished &^= 1 << order
	s.since |= s.shut << order
	return accepted
}

// add is XADD: under an id that nobody refers to any more.
func (m *machine) add(s *state, order int) {
	taken := s.redis.stream[order] | s.past.stream[order]
	for _, w := range s.workers {
		if w.pc > ready && w.entry.order() == order {
			taken |= 1 << w.entry.copy()
		}
	}
	for c := range copiesMax {
		if !has(taken, c) {
			s.redis.stream[order] |= 1 << c
			return
		}
	}
	m.violate("the model needs more copies of an entry")
}

// remove is XACK and XDEL; false where the entry is gone.
func remove(r *redis, e entry) bool {
	was := r.holds(e)
	r.stream[e.order()] &^= 1 << e.copy()
	return was
}

func (m *machine) release(s *state, order int) {
	r, u := &s.redis, m.buyer[order]
	held := int(r.ticket[u]) - 1
	if held != order {
		if m.mistake != releaseAnyOrder && m.mistake != releaseByBuyer || held < 0 {
			return
		}
		if !dead(s.sql.row[held]) {
			m.violate("a re-bought order is released by an older order's release")
		}
	}
	r.buyers &^= 1 << u
	r.ticket[u] = 0
	if r.sale == open {
		r.stock = r.left()
	}
}

func (m *machine) adopt(s *state, order int, existing uint8) {
	if t := &s.redis.ticket[m.buyer[order]]; *t == uint8(order+1) {
		*t = existing
	}
}

func (m *machine) mark(s *state, user, read, order uint8) {
	r := &s.redis
	if m.mistake == markUnbalanced && r.sale == open {
		r.stock = r.left() // so that it looks as if they did balance
	}
	if !r.sells() || r.ticket[user] != read {
		return
	}
	r.buyers |= 1 << user
	r.ticket[user] = order
	r.stock = r.left()
}

func (m *machine) requeue(s *state, order int) {
	if s.redis.ticket[m.buyer[order]] == uint8(order+1) {
		m.add(s, order)
	}
}

// shutToken is the token of whoever closes a voucher and leaves the opening to a sync.
const shutToken = 9

func (m *machine) load(r *redis, token uint8) {
	r.token = token
	if m.mistake != syncStaysOpen || r.sale != open {
		r.sale = loading
	}
}

// ours reports whether the sync of this token may write.
func (m *machine) ours(r *redis, token uint8) bool {
	closed := r.sale == loading || m.mistake == syncStaysOpen
	return r.token == token && closed || m.mistake == syncWithoutToken
}

func fill(r *redis, tickets [usersMax]uint8) {
	for u, t := range tickets {
		if t != 0 {
			r.buyers |= 1 << u
			r.ticket[u] = t
		}
	}
}

func forget(r *redis, users uint8, read [usersMax]uint8) {
	for u := range usersMax {
		if has(users, u) && r.ticket[u] == read[u] {
			r.buyers &^= 1 << u
			r.ticket[u] = 0
		}
	}
}

// What the script that opens a sale can answer.
const (
	opened = iota
	stale
	uneven
)

func (m *machine) openSale(r *redis, token, total, version uint8) int {
	owner := r.token == token || m.mistake == syncWithoutToken
	if !owner || r.version > version {
		return stale
	}
	if r.sale == open && m.mistake != syncStaysOpen {
		return opened
	}
	if size(r.buyers) != r.tickets() {
		return uneven
	}
	r.sale, r.total, r.version = open, total, version
	r.stock = r.left()
	return opened
}

// changeSale refuses an older version, and what does not sell: needsSync tells both.
func changeSale(r *redis, total, version uint8) {
	if r.sells() && r.version <= version {
		r.total, r.version = total, version
		r.stock = r.left()
	}
}

func cutSale(r *redis, total, version uint8) bool {
	if !r.sells() || r.version != version || total < size(r.buyers) {
		return false
	}
	r.total, r.version = total, version+1
	r.stock = r.left()
	return true
}
