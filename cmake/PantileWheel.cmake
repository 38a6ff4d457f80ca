# The component `python`: the binding and the library beside it, and the program `pantilec`, for the wheel that
# setup.py makes.
# Left out of a plain `cmake --install`.
install(TARGETS _pantile LIBRARY DESTINATION . COMPONENT python EXCLUDE_FROM_ALL)
install(FILES $<TARGET_FILE:pantile> DESTINATION . RENAME $<TARGET_SONAME_FILE_NAME:pantile>
        COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS pantilec RUNTIME DESTINATION bin COMPONENT python EXCLUDE_FROM_ALL)
