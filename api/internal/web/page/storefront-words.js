// The words of the storefront.

import {add} from './i18n.js';

add({
  en: {
    title: 'Flash sale', skip: 'Skip to the content', onSale: 'On sale', myOrders: 'My orders', more: 'Older orders', days: '{n} d', console: 'Console',
    nothing: 'Nothing is on sale yet.', old: 'The shop cannot be reached. What you see may be old; trying again…',
    signInAgain: 'Your token is not valid any more. Please sign in again.',
    upcoming: 'Upcoming', open: 'Open', soldOut: 'Sold out', ended: 'Ended', stock: 'Units left', left: '{left} of {total} left',
    opensIn: 'Opens in', opensAt: 'Opens {at}', endsIn: 'Ends in', endedAt: 'Ended {at}', free: 'Free',
    buy: 'Buy for {price}', buyAgain: 'Buy again for {price}', signInToBuy: 'Sign in to buy', asking: 'Asking…', tryingIn: 'Trying again in {time}', stop: 'Stop trying',
    silent: 'No answer yet. Asking again is safe: you never get two orders.', soldOutSorry: 'Others were faster. If a unit comes back, the button opens again.',
    accepted: 'Accepted', created: 'Ordered', paid: 'Paid', queued: 'Accepted', cancelled: 'Cancelled', rejected: 'Rejected', unknown: 'Unknown',
    queuedLine: 'Accepted: a unit is kept for you. The order is being written.', createdLine: 'It is yours.', paidLine: 'Paid. Thank you!', payWithin: 'Pay within',
    overdue: 'The time to pay is over. The order is being cancelled.', cancelledLine: 'You cancelled this order.', expiredLine: 'Cancelled: it was not paid in time.',
    rejectedLine: 'The order was not accepted in the end: {why}.', unknownLine: 'The shop does not find this order: {why}.', stale: 'Connection lost; what happens meanwhile will show.',
    duplicate: 'you hold another order of this voucher', short: 'no unit was left', lost: 'the sale lost it and had no unit for it any more',
    malformed: 'it could not be stored', worn_out: 'it could not be stored', id_clash: 'it could not be stored',
    pay: 'Pay {price}', paying: 'Paying…', cancel: 'Cancel order', cancelling: 'Cancelling…', keep: 'Keep it', giveUp: 'Give it up',
    reallyCancel: 'Cancel this order?', cancelMeans: 'Your unit goes back on sale, and somebody else may get it.', order: 'Order {id}',
  },
  zh: {
    title: '限时秒杀', skip: '跳到正文', onSale: '正在发售', myOrders: '我的订单', more: '更早的订单', days: '{n} 天', console: '控制台',
    nothing: '暂无活动。', old: '暂时无法连接，当前显示可能不是最新，正在重试……',
    signInAgain: '令牌已失效，请重新登录。',
    upcoming: '即将开始', open: '抢购中', soldOut: '已售罄', ended: '已结束', stock: '剩余库存', left: '剩余 {left} / {total}',
    opensIn: '距开始', opensAt: '{at} 开始', endsIn: '距结束', endedAt: '{at} 已结束', free: '免费',
    buy: '{price} 立即抢购', buyAgain: '{price} 再次抢购', signInToBuy: '登录后抢购', asking: '正在提交……', tryingIn: '{time} 后自动重试', stop: '停止重试',
    silent: '暂未收到回复。重复提交是安全的，绝不会重复下单。', soldOutSorry: '手慢了，已被抢完。若有名额退回，按钮会重新开放。',
    accepted: '抢购成功', created: '已下单', paid: '已支付', queued: '抢购成功', cancelled: '已取消', rejected: '未成立', unknown: '未知',
    queuedLine: '抢购成功，名额已为您保留，订单正在生成。', createdLine: '订单已生成。', paidLine: '支付完成，谢谢！', payWithin: '剩余支付时间',
    overdue: '支付时间已过，订单正在取消。', cancelledLine: '您已取消该订单。', expiredLine: '已取消：超时未支付。',
    rejectedLine: '订单最终未成立：{why}。', unknownLine: '未找到该订单：{why}。', stale: '连接中断，恢复后会显示最新状态。',
    duplicate: '您已持有该优惠券的另一笔订单', short: '库存不足', lost: '订单丢失且已无库存',
    malformed: '订单无法保存', worn_out: '订单无法保存', id_clash: '订单无法保存',
    pay: '支付 {price}', paying: '正在支付……', cancel: '取消订单', cancelling: '正在取消……', keep: '保留', giveUp: '确认取消',
    reallyCancel: '取消该订单？', cancelMeans: '名额将重新放出，可能被他人抢走。', order: '订单 {id}',
  },
});
