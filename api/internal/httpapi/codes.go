package httpapi

import (
	"net/http"

	"github.com/openseckill/seckill/pkg/seckill"
)

// What HTTP itself refuses, before a sale is asked.
const (
	routeNotFound    seckill.Code = "ROUTE_NOT_FOUND"
	methodNotAllowed seckill.Code = "METHOD_NOT_ALLOWED"
	bodyTooLarge     seckill.Code = "BODY_TOO_LARGE"
	bodyTooSlow      seckill.Code = "BODY_TOO_SLOW"
	unsupportedMedia seckill.Code = "UNSUPPORTED_MEDIA_TYPE"
	notAcceptable    seckill.Code = "NOT_ACCEPTABLE"
)

// answer is how one code is told to a client.
type answer struct {
	status   int
	en, zh   string // titles
	detail   string // said where nothing more exact is known: what it means, then what to do
	zhDetail string // the same in Chinese
	retry    bool   // the same request may succeed soon: it carries Retry-After
}

// answers is the one table from code to answer. AlreadyOrdered has no row: to HTTP it is
// no error but the repeat of an earlier answer.
var answers = map[seckill.Code]answer{
	seckill.SoldOut:    {status: http.StatusConflict, en: "Sold out", zh: "已售罄", detail: "No unit of this voucher is left. One comes back if an order is cancelled.", zhDetail: "该优惠券已无库存。若有订单取消，名额会重新放出。"},
	seckill.NotStarted: {status: http.StatusConflict, en: "Not started", zh: "尚未开始", detail: "The sale has not begun. Ask again at beginsAt.", zhDetail: "活动尚未开始，请在 beginsAt 之后再试。", retry: true},
	seckill.Ended:      {status: http.StatusConflict, en: "Ended", zh: "已结束", detail: "The sale is over. An order made in time can still be read.", zhDetail: "活动已结束。已成功提交的订单仍可查询。"},
	seckill.NotReady:   {status: http.StatusServiceUnavailable, en: "Not ready", zh: "正在准备", detail: "The voucher is being made ready. Ask again after Retry-After.", zhDetail: "优惠券正在准备，请按 Retry-After 稍后重试。", retry: true},

	seckill.Invalid:         {status: http.StatusBadRequest, en: "Invalid request", zh: "请求无效", detail: "The request is malformed or out of bounds. Mend it before you send it again.", zhDetail: "请求格式错误或超出范围，请修正后再发送。"},
	seckill.Unauthenticated: {status: http.StatusUnauthorized, en: "Not signed in", zh: "未登录", detail: "The bearer token is not valid. Get a new one.", zhDetail: "令牌无效，请重新获取。"},
	seckill.Forbidden:       {status: http.StatusForbidden, en: "Not allowed", zh: "没有权限", detail: "The caller's role does not allow this. Use a token of another role.", zhDetail: "当前角色无权执行此操作，请使用具有相应角色的令牌。"},
	seckill.VoucherNotFound: {status: http.StatusNotFound, en: "Voucher not found", zh: "优惠券不存在", detail: "There is no such voucher. Check its id.", zhDetail: "没有这个优惠券，请核对编号。"},
	seckill.OrderNotFound:   {status: http.StatusNotFound, en: "Order not found", zh: "订单不存在", detail: "The caller has no such order. Check its id, and whose token this is.", zhDetail: "您没有这个订单，请核对编号和所用令牌。"},
	seckill.Outdated:        {status: http.StatusConflict, en: "Outdated", zh: "版本已过期", detail: "Something newer is there already. Read it, then decide again.", zhDetail: "已有更新的版本，请重新读取后再操作。"},
	seckill.Conflict:        {status: http.StatusConflict, en: "Conflict", zh: "冲突", detail: "The id or key is taken by something else. Use another one.", zhDetail: "该编号或键已被占用，请更换。"},

	seckill.BelowSold:          {status: http.StatusConflict, en: "Below what is sold", zh: "低于已售数量", detail: "The total would be under what is held, queued orders included. Ask for more.", zhDetail: "总量低于已被占用的数量（含排队中的订单），请调高。"},
	seckill.PreconditionFailed: {status: http.StatusPreconditionFailed, en: "Changed meanwhile", zh: "版本不匹配", detail: "The voucher has another version than If-Match asks for. Read it, then decide again.", zhDetail: "优惠券版本与 If-Match 不符，请重新读取后再操作。"},
	seckill.DeadNotFound:       {status: http.StatusNotFound, en: "Message not found", zh: "消息不存在", detail: "No message is buried under this id. Check it: it may have been replayed or dropped.", zhDetail: "没有该编号的死信，可能已被重放或丢弃，请核对编号。"},

	seckill.CodeQueued:     {status: http.StatusConflict, en: "Still queued", zh: "订单排队中", detail: "The order waits to be stored. Ask again after Retry-After.", zhDetail: "订单正在排队入库，请按 Retry-After 稍后重试。", retry: true},
	seckill.CodePaid:       {status: http.StatusConflict, en: "Paid", zh: "订单已支付", detail: "The order is paid and stays. Ask the seller for a refund.", zhDetail: "订单已支付，不能取消。如需退款请联系商家。"},
	seckill.CodeCancelled:  {status: http.StatusConflict, en: "Cancelled", zh: "订单已取消", detail: "The order was cancelled before this payment came. The payment is noted: refund it.", zhDetail: "付款到达前订单已取消。该笔付款已登记，请退款。"},
	seckill.CodeRejected:   {status: http.StatusConflict, en: "Rejected", zh: "订单未成立", detail: "The order was rejected and cannot be paid. The payment is noted: refund it.", zhDetail: "订单未成立，不能支付。该笔付款已登记，请退款。"},
	seckill.AlreadyPaid:    {status: http.StatusConflict, en: "Already paid", zh: "订单已由其他付款支付", detail: "Another payment has paid the order. Refund this one.", zhDetail: "该订单已由另一笔付款支付，请将本笔退款。"},
	seckill.AmountMismatch: {status: http.StatusConflict, en: "Wrong amount", zh: "金额不符", detail: "The amount is not the order's price, in minor units. Nothing was paid: refund it, or send the amount that was asked.", zhDetail: "金额与订单价格（最小货币单位）不符，未支付。请退款或按应付金额支付。"},

	seckill.Unavailable: {status: http.StatusServiceUnavailable, en: "Temporarily unavailable", zh: "服务暂不可用", detail: "Something behind this did not answer, so what became of the request is not known. Ask again after Retry-After: a repeat does it once.", zhDetail: "后端未应答，请求是否生效尚不确定。请按 Retry-After 重试，重复请求只会生效一次。", retry: true},
	seckill.Overloaded:  {status: http.StatusServiceUnavailable, en: "Overloaded", zh: "服务繁忙", detail: "Nothing was done. Ask again after Retry-After.", zhDetail: "请求未被处理，请按 Retry-After 稍后重试。", retry: true},
	seckill.RateLimited: {status: http.StatusTooManyRequests, en: "Too many requests", zh: "请求过于频繁", detail: "You ask too often. Nothing was done. Ask again after Retry-After.", zhDetail: "请求过于频繁，未被处理，请按 Retry-After 稍后重试。", retry: true},
	seckill.Internal:    {status: http.StatusInternalServerError, en: "Internal error", zh: "内部错误", detail: "The fault is on our side and has been recorded. Tell the operator the requestId.", zhDetail: "系统内部错误，已记录。请将 requestId 告知管理员。"},

	routeNotFound:    {status: http.StatusNotFound, en: "No such address", zh: "地址不存在", detail: "Nothing is served at this address. /docs lists what there is.", zhDetail: "该地址不存在，可用地址见 /docs。"},
	methodNotAllowed: {status: http.StatusMethodNotAllowed, en: "Method not allowed", zh: "不支持该方法", detail: "This address does not know the method. Allow names those it does.", zhDetail: "该地址不支持此方法，支持的方法见 Allow 响应头。"},
	bodyTooLarge:     {status: http.StatusRequestEntityTooLarge, en: "Body too large", zh: "请求体过大", detail: "A request body may have up to 65536 bytes. Send less.", zhDetail: "请求体最多 65536 字节，请缩减后再发送。"},
	bodyTooSlow:      {status: http.StatusRequestTimeout, en: "Body too slow", zh: "请求体接收超时", detail: "The request body did not arrive in time. Send it again.", zhDetail: "请求体未能及时送达，请重新发送。"},
	unsupportedMedia: {status: http.StatusUnsupportedMediaType, en: "Unsupported media type", zh: "不支持的媒体类型", detail: "The body must be application/json. Set Content-Type.", zhDetail: "请求体必须是 application/json，请设置 Content-Type。"},
	notAcceptable:    {status: http.StatusNotAcceptable, en: "Not acceptable", zh: "无法满足 Accept", detail: "Answers are JSON, and Accept leaves that out. Nothing was done. Accept application/json.", zhDetail: "响应为 JSON，而 Accept 不接受 JSON。未执行任何操作，请接受 application/json。"},
}

// answerTo returns the row of a code. A code without one must not reach a client: it is
// told as Internal.
func answerTo(code seckill.Code) (seckill.Code, answer) {
	if a, ok := answers[code]; ok {
		return code, a
	}
	return seckill.Internal, answers[seckill.Internal]
}
