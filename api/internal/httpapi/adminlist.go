package httpapi

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/openseckill/seckill/pkg/seckill"
)

// auditor compares both stores; see books.Audit.
type auditor interface {
	Audit(ctx context.Context, v seckill.VoucherID) (seckill.Report, error)
}

// VoucherView is a name under which huma sees what is embedded.
type VoucherView = voucherView

// adminVoucher is a voucher as an admin sees it.
type adminVoucher struct {
	VoucherView
	Sold    int64 `json:"sold" doc:"Live orders that are stored"`
	Version int64 `json:"version" doc:"Raised by each change, and by a sync that found Redis ahead; the ETag"`
	Epoch   int64 `json:"epoch" doc:"Raised by each sync"`
}

type adminVouchersOutput struct{ Body adminVoucherPage }

type adminVoucherPage struct {
	Items []adminVoucher    `json:"items" nullable:"false"`
	Next  seckill.VoucherID `json:"next,omitempty" doc:"The cursor of the next page; absent on the last"`
}

func (a *API) listAdminVouchers(ctx context.Context, in *vouchersInput) (*adminVouchersOutput, error) {
	after, err := voucherCursor(in.Cursor)
	if err != nil {
		return nil, err
	}
	list, err := a.loadPage(ctx, page{after, in.Limit})
	if err != nil {
		return nil, err
	}
	now := a.now()
	body := adminVoucherPage{Items: []adminVoucher{}}
	for _, v := range list {
		if len(body.Items) == in.Limit {
			body.Next = body.Items[in.Limit-1].VoucherID
			break
		}
		body.Items = append(body.Items, adminVoucher{viewVoucher(v, now), v.Total - v.Stock, v.Version, v.Epoch})
	}
	return &adminVouchersOutput{Body: body}, nil
}

// auditView is a report with its verdicts.
type auditView struct {
	seckill.Report
	Balanced bool `json:"balanced" doc:"The voucher sells, each store balances, and what differs between them is under way"`
	AtRest   bool `json:"atRest" doc:"Nothing is under way, and both stores agree to the unit"`
}

type auditOutput struct{ Body auditView }

func (a *API) auditVoucher(ctx context.Context, in *voucherInput) (*auditOutput, error) {
	id, err := voucherID(in.VoucherID)
	if err != nil {
		return nil, err
	}
	r, err := a.books.Audit(ctx, id)
	if err != nil {
		return nil, err
	}
	return &auditOutput{auditView{r, r.Balanced(), r.AtRest()}}, nil
}

// deedView is an entry in the log of what admins did.
type deedView struct {
	ID        string            `json:"id" doc:"Number of the entry" example:"17"`
	At        string            `json:"at" format:"date-time" doc:"By the database's clock"`
	Actor     seckill.UserID    `json:"actor" doc:"User id of the admin"`
	Action    seckill.Action    `json:"action" enum:"create,change,close,sync,replay,drop"`
	VoucherID seckill.VoucherID `json:"voucherId,omitempty"`
	RequestID string            `json:"requestId" doc:"Names the request in the logs"`
	Detail    json.RawMessage   `json:"detail" doc:"What changed, each with what it was and what it became; or what it was done to"`
}

type pageInput struct {
	Cursor string `query:"cursor" doc:"The next of the page before"`
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"100"`
}

type deedsOutput struct{ Body deedPage }

type deedPage struct {
	Items []deedView `json:"items" nullable:"false"`
	Next  string     `json:"next,omitempty" doc:"The cursor of the next page; absent on the last"`
}

func (a *API) listDeeds(ctx context.Context, in *pageInput) (*deedsOutput, error) {
	before := int64(0)
	if in.Cursor != "" {
		var err error
		if before, err = strconv.ParseInt(in.Cursor, 10, 64); err != nil || before < 1 {
			return nil, badCursor
		}
	}
	list, err := a.deeds.Deeds(ctx, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	body := deedPage{Items: []deedView{}}
	for _, d := range list {
		if len(body.Items) == in.Limit {
			body.Next = body.Items[in.Limit-1].ID
			break
		}
		body.Items = append(body.Items, deedView{
			ID: strconv.FormatInt(d.ID, 10), At: stamp(d.At), Actor: d.Actor, Action: d.Action,
			VoucherID: d.Voucher, RequestID: d.Request, Detail: d.Detail,
		})
	}
	return &deedsOutput{Body: body}, nil
}
