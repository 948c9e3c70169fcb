package model

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// found is what an exploration came to.
type found struct {
	states int
	cut    bool     // there were more states than it was to look at
	broken string   // the rule that does not hold
	trace  []string // a shortest way to there
	deeds  map[string]bool
}

func (f found) String() string {
	return fmt.Sprintf("%d states, %s\n%s", f.states, f.broken, strings.Join(f.trace, "\n"))
}

// explore looks at every state that can be reached, up to a limit, and ends at the first one
// that breaks a rule.
func explore(c config, limit int) (f found) {
	m := newMachine(c)
	t := newTable()
	f.deeds = make(map[string]bool)
	begin := m.start()
	t.add(&begin, 0)
	var at int
	m.emit = func(to *state, d deed, broken string) {
		if broken != "" {
			if f.broken == "" {
				f.broken, f.trace = broken, append(t.trace(m, at), d.String())
			}
			return
		}
		canonical(to)
		if t.add(to, at) && !f.deeds[d.does] {
			f.deeds[d.does] = true
		}
	}
	for at = 0; at < t.len() && f.broken == "" && !f.cut; at++ {
		s := *t.at(at)
		if f.broken = m.always(&s); f.broken != "" {
			f.trace = t.trace(m, at)
		} else if f.broken = m.finally(&s); f.broken != "" {
			f.trace = append(t.trace(m, at), "every process stops, and what is left is done")
		} else {
			m.next(&s)
		}
		f.cut = t.len() > limit
	}
	f.states = t.len()
	return f
}

// table holds the states seen, each once, in the order in which they were found.
type table struct {
	states [][]state // in pages, so that growing copies nothing
	from   []int32
	slots  []int32 // index of a state plus one; open addressing
	seed   maphash.Seed
}

const tablePage = 1 << 12

func newTable() *table { return &table{slots: make([]int32, 1<<12), seed: maphash.MakeSeed()} }

func (t *table) len() int { return len(t.from) }

func (t *table) at(i int) *state { return &t.states[i/tablePage][i%tablePage] }

// slot is where a state stands, or would.
func (t *table) slot(s *state) int {
	mask := len(t.slots) - 1
	h := int(maphash.Comparable(t.seed, *s)) & mask
	for t.slots[h] != 0 && *t.at(int(t.slots[h] - 1)) != *s {
		h = (h + 1) & mask
	}
	return h
}

// add reports whether the state is new.
func (t *table) add(s *state, from int) bool {
	h := t.slot(s)
	if t.slots[h] != 0 {
		return false
	}
	if t.len()%tablePage == 0 {
		t.states = append(t.states, make([]state, tablePage))
	}
	*t.at(t.len()) = *s
	t.from = append(t.from, int32(from))
	t.slots[h] = int32(t.len())
	if 2*t.len() > len(t.slots) {
		t.grow()
	}
	return true
}

func (t *table) grow() {
	t.slots = make([]int32, 2*len(t.slots))
	for i := range t.len() {
		t.slots[t.slot(t.at(i))] = int32(i + 1)
	}
}

// trace tells the steps that lead to a state, by making them once more.
func (t *table) trace(m *machine, i int) (steps []string) {
	if i == 0 {
		return nil
	}
	parent := int(t.from[i])
	steps = t.trace(m, parent)
	want, from := *t.at(i), *t.at(parent)
	told := false
	again := &machine{config: m.config, users: m.users}
	again.emit = func(to *state, d deed, broken string) {
		if canonical(to); *to == want && broken == "" && !told {
			steps, told = append(steps, d.String()), true
		}
	}
	again.next(&from)
	return steps
}
