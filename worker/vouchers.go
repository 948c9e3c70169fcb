package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/openseckill/seckill/pkg/books"
	"github.com/openseckill/seckill/pkg/command"
	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
)

const (
	keptAfterEnd = 7 * 24 * time.Hour // Redis may forget a voucher after that
	pageMax      = 100
)

var errDrift = errors.New("the books do not balance: drift says where; `worker sync --voucher ID` rebuilds Redis from SQL")

// one is what a command does with a voucher. It writes what it has to say to out.
type one func(ctx context.Context, b *books.Books, v seckill.VoucherID, out io.Writer) error

// vouchersCommand is a command for the voucher named, or for all that Redis should hold.
func vouchersCommand(name, short string, do one) *cobra.Command {
	var voucher string
	cmd := &cobra.Command{
		Use: name, Short: short, Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			cfg, err := config.LoadWorker(config.Environ())
			if err != nil {
				return err
			}
			s, err := open(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.close()) }()
			b := books.New(s.redis, s.sql, obs.NewLogger(os.Stderr, cfg.Log.Level, cfg.Log.Format))
			if !cmd.Flags().Changed("voucher") {
				return all(cmd.Context(), b, s.sql, do, cmd.OutOrStdout())
			}
			v, err := seckill.ParseVoucherID(voucher)
			if err != nil {
				return fmt.Errorf("--voucher: %w", err)
			}
			return do(cmd.Context(), b, v, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&voucher, "voucher", "", "id of the voucher; without it, all that have not long ended")
	return cmd
}

// all does it for every voucher, also after one of them failed.
func all(ctx context.Context, b *books.Books, sql *sqlstore.Store, do one, out io.Writer) error {
	var failed error
	for after := seckill.VoucherID(0); ; {
		page, err := sql.Vouchers(ctx, after, pageMax)
		if err != nil || len(page) == 0 {
			return errors.Join(failed, err)
		}
		for _, v := range page {
			if time.Since(v.End) > keptAfterEnd {
				continue
			}
			if err := do(ctx, b, v.ID, out); err != nil {
				failed = errors.Join(failed, fmt.Errorf("voucher %s: %w", v.ID, err))
			}
		}
		after = page[len(page)-1].ID
	}
}

func syncOne(ctx context.Context, b *books.Books, v seckill.VoucherID, _ io.Writer) error {
	return b.Sync(ctx, v)
}

// auditOne writes the report as one line of JSON.
func auditOne(ctx context.Context, b *books.Books, v seckill.VoucherID, out io.Writer) error {
	report, err := b.Audit(ctx, v)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(report); err != nil {
		return err
	}
	if !report.Balanced() {
		return errDrift
	}
	return nil
}
