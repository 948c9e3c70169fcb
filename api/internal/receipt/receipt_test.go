package receipt_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/api/internal/receipt"
	"github.com/openseckill/seckill/pkg/seckill"
)

var (
	order  = seckill.Order{ID: math.MaxInt64, User: 42, Voucher: 1001}
	signer = receipt.NewSigner([]byte("0123456789abcdef0123456789abcdef"))
)

func TestRead(t *testing.T) {
	good := signer.Sign(order)
	for name, c := range map[string]struct {
		signer *receipt.Signer
		text   string
		id     seckill.OrderID
		user   seckill.UserID
		ok     bool
	}{
		"a good one":               {signer, good, order.ID, order.User, true},
		"of another order":         {signer, good, order.ID - 1, order.User, false},
		"of another user":          {signer, good, order.ID, order.User + 1, false},
		"of another voucher":       {signer, strings.Replace(good, "1001.", "1002.", 1), order.ID, order.User, false},
		"with a zero before it":    {signer, "0" + good, order.ID, order.User, false},
		"cut short":                {signer, good[:len(good)-1], order.ID, order.User, false},
		"with more behind it":      {signer, good + "A", order.ID, order.User, false},
		"none":                     {signer, "", order.ID, order.User, false},
		"no code":                  {signer, "1001.", order.ID, order.User, false},
		"by another secret":        {receipt.NewSigner([]byte("x")), good, order.ID, order.User, false},
		"where there is no key":    {receipt.NewSigner(nil), good, order.ID, order.User, false},
		"an empty one, and no key": {nil, "1001.", order.ID, order.User, false},
	} {
		t.Run(name, func(t *testing.T) {
			o, ok := c.signer.Read(c.text, c.id, c.user)
			require.Equal(t, c.ok, ok)
			if ok {
				require.Equal(t, order, o)
			}
		})
	}
	require.Empty(t, receipt.NewSigner(nil).Sign(order))
}

func TestSignAtOnce(t *testing.T) {
	want := signer.Sign(order)
	var g errgroup.Group
	for range 8 {
		g.Go(func() error {
			for range 1000 {
				if signer.Sign(order) != want {
					return seckill.Internal
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
}

func BenchmarkSign(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		signer.Sign(order)
	}
}
