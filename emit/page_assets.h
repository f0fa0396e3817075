// Style sheet and scripts of report.html: the files of emit/page, put together when hapc is built
// (emit/page/embed.cmake). Each ends with a 0.

#ifndef HAP_EMIT_PAGE_ASSETS_H
#define HAP_EMIT_PAGE_ASSETS_H

extern const unsigned char page_css[], page_js[];

#endif
