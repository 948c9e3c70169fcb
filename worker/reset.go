package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/openseckill/seckill/pkg/books"
	"github.com/openseckill/seckill/pkg/command"
	"github.com/openseckill/seckill/pkg/seckill"
)

// reset is what became of a voucher, in JSON.
type reset struct {
	VoucherID seckill.VoucherID `json:"voucherId"`
	books.Forgotten
}

func resetCommand() *cobra.Command {
	cmd := vouchersCommand(&cobra.Command{
		Use: "reset --voucher ID", Short: "Forget a rehearsal: all orders, messages and keys of a voucher",
		Long: "Deletes all orders of a voucher with their payments, its messages, waiting or buried, and its keys, and\n" +
			"loads it anew as if nobody had ever bought. There is no way back. It is refused while the sale is open,\n" +
			"and the sale cannot open before it is done. Receipts of the rehearsal are void.\n" +
			"Repeating one that was cut short finishes it. What other systems were told is not taken back.\n" +
			"With -o json: voucherId, orders, waiting, buried (how many there were).",
		Example: "  worker reset --voucher 1001",
	}, resetOne, nil)
	flag, run := cmd.Flags().Lookup("voucher"), cmd.RunE
	flag.Usage = "id of the voucher"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !flag.Changed {
			return command.Wrong(errors.New("--voucher is missing: say which one to forget"))
		}
		return run(cmd, args)
	}
	return cmd
}

func resetOne(ctx context.Context, b *books.Books, v seckill.VoucherID, tell tell) error {
	f, err := b.Reset(ctx, v)
	if err != nil {
		return err
	}
	return tell(reset{v, f}, fmt.Sprintf("voucher %s: forgotten; orders %d, waiting messages %d, buried ones %d", v, f.Orders, f.Waiting, f.Buried))
}
