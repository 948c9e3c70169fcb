package app_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Redis keeps nothing and is killed. Whoever had their order stored has it; those whose order
// it forgot show the receipt, and are told of an end: queued again while there is a unit,
// else lost. Nobody is met with silence.
func TestReceiptAfterRedisForgot(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	voucher := s.create("1")
	first := s.buy(voucher, 42)
	require.Equal(t, http.StatusAccepted, first.status)
	require.NoError(t, s.redis.Kill())
	require.NoError(t, s.redis.Restart())

	ask := func(a answer) answer {
		var got answer
		require.Eventually(t, func() bool {
			got = s.do("GET", a.location+"?receipt="+a.body.Receipt, "", 42, "")
			return got.status == http.StatusOK
		}, time.Minute, 20*time.Millisecond, "in sync it is NOT_READY, and then there is an answer")
		return got
	}
	require.Equal(t, "queued", ask(first).body.Status)
	require.Equal(t, "queued", s.do("GET", first.location, "", 42, "").body.Status, "it is found without the receipt from now on")
	require.Equal(t, "SOLD_OUT", s.buy(voucher, 43).body.Code, "its unit is taken again")

	require.NoError(t, s.redis.Kill())
	require.NoError(t, s.redis.Restart())
	require.Eventually(t, func() bool { return s.buy(voucher, 43).status == http.StatusAccepted }, time.Minute, 20*time.Millisecond)
	require.Equal(t, "rejected", ask(first).body.Status)
	require.Equal(t, "rejected", s.do("GET", first.location, "", 42, "").body.Status)
}
