package runbook

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A row of the table: what is typed, and what mends it where that is not the system alone.
var typedRow = regexp.MustCompile("(?m)^\\| `([A-Z][^`]+)` \\|.*\\| (?:by `([^`]+)`[^|]*|in [^|]+) \\|$")

// What must never be typed is typed, while orders wait: they are stored, and the books balance.
func TestTyped(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	rows := typedRow.FindAllStringSubmatch(string(text), -1)
	require.Len(t, rows, 13)
	s := newStack(t)
	for _, row := range rows {
		if !t.Run(row[1], func(t *testing.T) { s.T = t; s.interfere(row[1], row[2]) }) {
			t.FailNow() // the next row would begin in a state that is not its own
		}
	}
}

func (s *stack) interfere(command, remedy string) {
	s.buy(2)
	s.drained()
	s.freeze()
	orders := s.buy(8)
	s.typed(s.words(command))
	s.thaw()
	s.bought()
	if remedy != "" {
		require.NoError(s, s.shell.run(s.Context(), block{shell: remedy}))
	}
	balanced := block{shell: "worker audit --voucher $V", shown: []string{"…balanced;…waiting 0,…"}}
	s.eventually("the books balance", func() bool { return s.shell.run(s.Context(), balanced) == nil })
	for _, o := range orders {
		s.settled(o)
	}
}

// words are the command of a row, about the voucher and an entry that there are.
func (s *stack) words(command string) (words []any) {
	for _, word := range strings.Fields(strings.ReplaceAll(command, "1001", s.voucher)) {
		if word == "ID" {
			word = s.abandon()
			require.NotEmpty(s, word)
		}
		words = append(words, word)
	}
	return words
}

// bought lets one more user insist.
func (s *stack) bought() {
	s.Helper()
	s.users++
	s.eventually("a purchase is accepted", func() bool {
		status := s.call(http.MethodPost, "/api/v1/vouchers/"+s.voucher+"/orders", s.token(s.users, ""), "", nil)
		return status == http.StatusAccepted || status == http.StatusOK
	})
}

// settled requires that an accepted order has its row, or that its receipt still makes it one.
func (s *stack) settled(o accepted) {
	s.Helper()
	var got struct{ Status string }
	s.eventually("an accepted order is stored", func() bool {
		status := s.callWith(o.Receipt, http.MethodGet, "/api/v1/orders/"+o.OrderID, s.token(o.user, ""), "", &got)
		return status == http.StatusOK && got.Status == "created"
	})
}
