package steps

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
)

// TestSteps kills a program at every step in turn, by name. At full length that is on both
// sides of each; in short a step is executed and not answered, which leaves behind what the
// next one leaves that is about to be sent.
func TestSteps(t *testing.T) {
	for _, c := range scenes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			steps := s.rehearse(c)
			for _, name := range c.knows {
				require.Contains(t, steps, step{name, 1})
			}
			for i, d := range deaths(steps, c.skip) {
				t.Run(fmt.Sprintf("%d %s", i+1, d), func(t *testing.T) {
					s.t = t
					s.perform(c, d)
				})
				s.t = t
			}
		})
	}
}

// deaths are those of a program that takes these steps. A read that is about to be sent has
// got nothing yet.
func deaths(steps []step, skip []string) (ds []death) {
	for i, s := range steps {
		if slices.Contains(skip, s.name) || slices.Contains(skip, s.String()) {
			continue
		}
		if s.name != taken && (i == 0 || faultnet.Pick(false, true)) {
			ds = append(ds, death{s, before})
		}
		ds = append(ds, death{s, after})
	}
	return ds
}

// rehearse runs a scene in which nobody dies, and returns its steps. A first run is not
// counted: it loads the scripts, and a program's own first steps are those of a new life. Of
// two more the shorter one counts: on a busy machine something may be tried twice.
func (s *stage) rehearse(c scene) (steps []step) {
	s.t.Helper()
	for i := range 3 {
		l := s.perform(c, death{})
		if list := l.record.list(); i == 1 || i == 2 && len(list) < len(steps) {
			steps = list
		}
		l.crash()
		s.revive(l)
	}
	return steps
}

// perform runs a scene in which the program dies, and another one takes over. The zero death
// is none. It returns the program.
func (s *stage) perform(c scene, d death) *life {
	s.t.Helper()
	deal := c.set(s)
	l := c.victim(s, deal)
	l.record.arm(d)
	if !l.Started() {
		l.start() // a command, which begins to act at once
	}
	acted := make(chan error, 1)
	go func() { acted <- c.act(s, l, deal) }() // whose answer may never come
	sure := d.nth == 1 && slices.Contains(c.knows, d.name)
	if d != (death{}) && l.dies(d, sure) {
		<-acted
		s.revive(l)
	} else {
		require.NoError(s.t, <-acted)
	}
	if c.again != nil {
		l.record.rest()
		c.again(s, deal)
	}
	s.rest(deal.voucher)
	s.law(deal)
	s.view(deal)
	return l
}
