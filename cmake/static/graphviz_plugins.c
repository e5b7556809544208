// The parts of Graphviz that pipesim uses: the layout `dot`, and SVG. viz/pictures/graphviz.cpp looks
// up this table, whose name is the one that libtool generates.
#include "config.h"
#include "gvplugin.h"

extern gvplugin_installed_t gvrender_svg_types[];
extern gvplugin_installed_t gvdevice_svg_types[];
extern gvplugin_library_t gvplugin_dot_layout_LTX_library;

static gvplugin_api_t svg[] = {
    {API_render, gvrender_svg_types}, {API_device, gvdevice_svg_types}, {(api_t)0, 0}};
static gvplugin_library_t gvplugin_svg_LTX_library = {"svg", svg};

lt_symlist_t lt_preloaded_symbols[] = {
    {"gvplugin_dot_layout_LTX_library", &gvplugin_dot_layout_LTX_library},
    {"gvplugin_svg_LTX_library", &gvplugin_svg_LTX_library},
    {0, 0}};
