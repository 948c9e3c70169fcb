package sqlstore

import (
	"context"

	"github.com/openseckill/seckill/pkg/seckill"
)

// LatePayments reads at most limit payments that came after their order had died, the newest
// first. Pay keeps them; nothing here ever takes one away.
func (s *Store) LatePayments(ctx context.Context, limit int) ([]seckill.LatePayment, error) {
	var rows []struct {
		Reference []byte          `db:"reference"`
		Order     seckill.OrderID `db:"order_id"`
		Amount    int64           `db:"amount"`
		CreatedAt int64           `db:"created_at"`
	}
	const query = "SELECT reference, order_id, amount, created_at FROM late_payment ORDER BY created_at DESC, reference LIMIT ?"
	if err := s.db.SelectContext(ctx, &rows, query, limit); err != nil {
		return nil, fault("sqlstore.LatePayments", err)
	}
	late := make([]seckill.LatePayment, len(rows))
	for i, r := range rows {
		paid := seckill.Payment{Reference: string(r.Reference), Amount: r.Amount}
		late[i] = seckill.LatePayment{Payment: paid, Order: r.Order, At: fromMillis(r.CreatedAt)}
	}
	return late, nil
}
