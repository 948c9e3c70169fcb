package httpapi

import (
	"encoding/json"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/receipt"
	"github.com/openseckill/seckill/pkg/seckill"
)

// What is written by hand is what encoding/json would have written.
func TestBoughtAsJSON(t *testing.T) {
	for _, b := range []bought{
		{OrderID: math.MaxInt64, VoucherID: 1, Status: seckill.Queued},
		{OrderID: 9007199254740993, VoucherID: math.MaxInt64, Status: seckill.Cancelled, Repeated: true},
		{OrderID: 1, VoucherID: 1, Status: seckill.Queued, Receipt: receipt.NewSigner([]byte("x")).Sign(seckill.Order{ID: 1, User: 2, Voucher: 3})},
	} {
		want, err := json.Marshal(b)
		require.NoError(t, err)
		require.Equal(t, string(want)+"\n", string(b.json()))
	}
}

func TestAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a allowance
		first := a.context(t.Context())
		<-time.After(tick - time.Nanosecond)
		same := a.context(t.Context())
		require.Equal(t, first.Done(), same.Done(), "one timer serves a tick")
		<-time.After(time.Nanosecond)
		next := a.context(t.Context())
		require.NotEqual(t, first.Done(), next.Done())

		<-time.After(admitMax - tick)
		require.NoError(t, same.Err(), "nobody gets less than all")
		<-time.After(tick)
		synctest.Wait()
		require.Error(t, same.Err(), "nor more than a tick longer")
		require.NoError(t, next.Err())
		<-time.After(tick)
		synctest.Wait()
		require.Error(t, next.Err())
	})
}
