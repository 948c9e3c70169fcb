package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
)

// auditOrphans tells the vouchers that have orders in the database and no row of their own,
// which no list of vouchers has.
func auditOrphans(ctx context.Context, sql *sqlstore.Store, tell tell) error {
	orphans, err := sql.Orphans(ctx)
	if err != nil {
		return err
	}
	for _, v := range slices.Sorted(maps.Keys(orphans)) {
		r := seckill.Report{Voucher: v, SQL: seckill.SQLBooks{ByStatus: orphans[v]}}
		r.Add(seckill.Finding{Kind: seckill.NoVoucher}, 1)
		orders := int64(0)
		for _, n := range orphans[v] {
			orders += n
		}
		if err := tell(r, fmt.Sprintf("voucher %s: DRIFT; not in the database, orders %d\n  %s", v, orders, r.Drift[0])); err != nil {
			return err
		}
	}
	if len(orphans) > 0 {
		return errDrift
	}
	return nil
}
